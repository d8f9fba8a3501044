"""Tests which memories are mapped to chains of UltraRAMs, and how the chains are wired."""

from itertools import pairwise

import pytest

from gen.base.emission.emit import emit
from gen.synth.mapping import called, map_module, source_of
from gen.synth.uram_cascade import LENGTHS, PASSED, ROW_WORDS
from hdl.common.memory import DualPortMemory
from sim.harness.cache import cached_folder


def mapped(depth, bits=72):
    memory = DualPortMemory.sized(shape=bits, depth=depth, style="ultra", output_registers=0)
    (module,) = emit(memory).modules.values()
    assert not called(module)
    return map_module(module.name, source_of(module, {}), cached_folder).cells


def kinds(cells):
    names = [cell["type"] for cell in cells.values()]
    return {name: names.count(name) for name in sorted({*names})}


@pytest.mark.parametrize("length", LENGTHS)
def test_a_chain_is_wired_from_the_first_to_the_last(length):
    cells = mapped(ROW_WORDS * length)
    assert kinds(cells) == {"URAM288": length}
    wires = [cell["connections"] for cell in cells.values()]
    chain = [next(w for w in wires if isinstance(w["ADDR_A"][0], int))]
    while len(chain) < length:
        link = chain[-1]["CAS_OUT_DOUT_A"]
        chain.append(next(w for w in wires if w.get("CAS_IN_DOUT_A") == link))
    for before, behind in pairwise(chain):
        for name, width in PASSED:
            for port in "AB":
                assert len(before[f"CAS_OUT_{name}_{port}"]) == width
                assert before[f"CAS_OUT_{name}_{port}"] == behind[f"CAS_IN_{name}_{port}"]
    assert all(isinstance(bit, int) for bit in chain[-1]["DOUT_A"])


@pytest.mark.parametrize(
    ("depth", "bits", "count"),
    [(ROW_WORDS, 72, 1), (2 * ROW_WORDS + 1, 72, 3), (3 * ROW_WORDS + 1, 144, 8)],
)
def test_no_ultraram_is_wasted(depth, bits, count):
    """A memory that fills less than three quarters of a chain has rows and a multiplexer."""
    result = kinds(mapped(depth, bits))
    assert result["URAM288"] == count
    assert ("LUT6" in result or "LUT3" in result or "LUT5" in result) == (count == 3)
