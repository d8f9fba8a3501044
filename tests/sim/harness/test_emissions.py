import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

import pytest
from amaranth.lib.wiring import In, Out

import gen.base.emission.emit
import sim.harness.emissions
from gen.base.emission.emit import emit
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.p4sgd.transport.params import TransportParams
from hdl.p4sgd.transport.slot_table import SlotTable
from sim.harness.coverage_runs import COVERAGE
from sim.harness.emissions import EMITTERS, FILE, KIND, emission_of

FIFO = FifoParams(shape=8, depth=4)


@dataclass(frozen=True, kw_only=True)
class PairParams:
    tag: object = None


class Pair(Component):
    """Two FIFOs that do nothing."""

    def __init__(self, params):
        super().__init__(params, i=In(8), o=Out(8))

    def build(self, m):
        for depth in (3, 5):
            m.submodules[f"part_{depth}"] = Fifo(FifoParams(shape=8, depth=depth))
        m.d.comb += self.o.eq(self.i)


@dataclass(frozen=True, kw_only=True)
class NamedParams:
    suffix: str = ""
    width: int = 1


class Named(Pair):
    """A pair with a name that several pairs may have."""


class Twins(Component):
    """Two components of one name and different parameters."""

    def __init__(self, params):
        super().__init__(params, i=In(8), o=Out(8))

    def build(self, m):
        for width in (1, 2):
            emission_of(Named(NamedParams(width=width)))
            m.submodules[f"part_{width}"] = Named(NamedParams(width=width))
        m.d.comb += self.o.eq(self.i)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def elaborated(monkeypatch):
    """Return the modules that are elaborated, as it happens."""
    done = []
    own = gen.base.emission.emit.netlist_of

    def counted(fragment, ports, name):
        done.append(name)
        return own(fragment, ports, name)

    monkeypatch.setattr(gen.base.emission.emit, "netlist_of", counted)
    return done


def test_elaborated_once_and_the_same_ever_after(elaborated):
    first, again = (emission_of(Pair(PairParams())) for _ in range(2))
    assert elaborated == ["fifo_8x3_distributed", "fifo_8x5_distributed", "pair"]
    assert first.verilog == again.verilog == emit(Pair(PairParams())).verilog
    assert first.digest == again.digest
    assert (
        first.counts()
        == again.counts()
        == {"fifo_8x3_distributed": 1, "fifo_8x5_distributed": 1, "pair": 1}
    )
    for item, other in zip(first.modules.values(), again.modules.values(), strict=True):
        assert item == other


def test_what_is_known_of_a_module_is_all_that_it_was_when_it_was_emitted():
    emission_of(Pair(PairParams()))
    part, _, pair = emission_of(Pair(PairParams())).modules.values()
    assert part.kind is Fifo
    assert part.component.params == FifoParams(shape=8, depth=3)
    assert "module \\fifo_8x3_distributed\n" in part.rtlil
    assert [port.name for port in pair.ports] == ["clk", "rst", "i", "o"]
    assert part.domains == ("sync",)


def test_a_part_is_elaborated_once_for_all_designs_that_it_stands_in(elaborated):
    alone = emission_of(Fifo(FifoParams(shape=8, depth=5)))
    pair = emission_of(Pair(PairParams()))
    assert elaborated == ["fifo_8x5_distributed", "fifo_8x3_distributed", "pair"]
    assert pair.modules["fifo_8x5_distributed"] == alone.top
    assert (
        emission_of(Fifo(FifoParams(shape=8, depth=3))).top == pair.modules["fifo_8x3_distributed"]
    )
    assert len(elaborated) == 3


def test_a_design_whose_part_is_gone_is_built_anew(cache, elaborated):
    emission_of(Pair(PairParams()))
    for file in cache.glob(f"{KIND}/*/{FILE}"):
        if (
            b"fifo_8x3_distributed" in file.read_bytes()
            and b"module \\pair" not in file.read_bytes()
        ):
            shutil.rmtree(file.parent)
    assert emission_of(Pair(PairParams())).verilog == emit(Pair(PairParams())).verilog
    assert elaborated[3:5] == ["fifo_8x3_distributed", "pair"]


def test_what_a_module_is_called_must_be_distinguished_from_what_is_known():
    emission_of(Fifo(FifoParams(shape=8, depth=3)))
    with pytest.raises(ValueError, match="two different sets of parameters are called named"):
        emission_of(Twins(PairParams()))


def test_other_parameters_are_elaborated(elaborated):
    for depth in (4, 5, 4):
        assert emission_of(Fifo(FifoParams(shape=8, depth=depth)))
    assert elaborated == ["fifo_8x4_distributed", "fifo_8x5_distributed"]


def test_other_sources_are_elaborated(elaborated, monkeypatch):
    requested = []
    for digest in ("first", "second", "first"):
        monkeypatch.setattr(
            sim.harness.emissions,
            "digest_of",
            lambda modules, d=digest: requested.append(modules) or d,
        )
        emission_of(Pair(PairParams(tag=FIFO)))
    assert elaborated == 2 * ["fifo_8x3_distributed", "fifo_8x5_distributed", "pair"]
    assert set(requested[0]) == {*EMITTERS, Pair.__module__, "hdl.common.fifo"}


def test_nothing_is_kept_of_files_that_were_edited_since_they_were_imported(
    elaborated, monkeypatch
):
    monkeypatch.setattr(sim.harness.emissions, "STARTED", 0.0)
    for _ in range(2):
        emission_of(Fifo(FIFO))
    assert elaborated == 2 * ["fifo_8x4_distributed"]


def test_a_process_begins_before_its_first_import():
    """What was imported, and edited, before the cache's own module is not kept either."""
    code = (
        "import time; began = time.time(); time.sleep(0.5);"
        "from sim.harness.emissions import STARTED; print(began - STARTED)"
    )
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert float(result.stdout) > 0


def test_expectations_are_asserted_but_not_covered(monkeypatch):
    table = SlotTable(TransportParams(slots=2))
    assert "assert (expects_starts_if_it_may)" in emission_of(table).verilog
    assert emission_of(table, generated=True).verilog == emit(table).verilog
    monkeypatch.setenv(COVERAGE, "1")
    assert "expects" not in emission_of(table).verilog


def test_a_module_that_expects_nothing_is_the_same_with_and_without_assertions(elaborated):
    emission_of(Pair(PairParams()))
    assert (
        emission_of(Pair(PairParams()), generated=True).verilog == emit(Pair(PairParams())).verilog
    )
    assert len(elaborated) == 6  # of the first and the last emission


def test_what_expects_something_is_detected_again_in_either_direction(elaborated):
    table = SlotTable(TransportParams(slots=2))
    texts = [emission_of(table, generated=generated).verilog for generated in (0, 1, 0, 1)]
    assert texts[:2] == texts[2:]
    assert texts[0] != texts[1]
    assert elaborated.count("slot_table_8x2") == 2


def test_what_cannot_be_pickled_is_elaborated_each_time_but_not_its_parts(elaborated):
    class Local(Pair):
        pass

    for component in (Local(PairParams()), Pair(PairParams(tag=lambda: 0))):
        assert emission_of(component).verilog == emission_of(component).verilog
    assert elaborated == [
        "fifo_8x3_distributed",
        "fifo_8x5_distributed",
        "local",
        "local",
        "pair",
        "pair",
    ]
