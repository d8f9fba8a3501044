"""Synthesises small circuits whose cost is known: see circuits.py."""

import json
import re
from unittest.mock import Mock

import pytest

from gen.base.settings import make_params
from gen.designs.catalogue import find_design
from gen.synth import mapping
from gen.synth.resources import Resources
from gen.synth.synthesis import synthesise
from sim.harness.cache import cached_folder
from sim.harness.emissions import emission_of

#: the sum has 17 bits: 5 CARRY4; the product's DSP has no register inside
OWN = {
    "sum_16": Resources(lut=16, ff=16 + 16 + 17, carry=3),
    "delay_4": Resources(lutram=4),
    "table_14": Resources(lutram=8),
    "product_12": Resources(dsp=1, ff=12 + 12 + 24),
    "dual_port_memory_4096x72_ultra": Resources(uram=1, ff=72),
    "dual_port_memory_1024x36_block": Resources(bram18=2, ff=36),
    "parity_6": Resources(lut=1),
    "circuits": Resources(ff=6 + 1),
}
#: levels, chains, bits of the chain
DEPTH = {
    "sum_16": (1, 1, 17),
    "delay_4": (0, 0, 0),
    "product_12": (4, 0, 0),
    "parity_6": (0, 0, 0),
    "circuits": (2, 0, 0),
}


def test_what_each_module_takes(synthesis):
    assert {name: module.own for name, module in synthesis.modules.items()} == OWN
    assert all(not module.unknown for module in synthesis.modules.values())


@pytest.mark.parametrize("name", DEPTH)
def test_depth(synthesis, name):
    depth = synthesis.modules[name].depth
    assert (depth.levels, depth.chains, depth.carry) == DEPTH[name]
    assert depth.rings == 0


def test_a_path_goes_through_two_children(synthesis):
    depth = synthesis.modules["circuits"].depth
    assert depth.start.startswith("held[")
    assert depth.end == "parity"


def test_counts_and_totals(synthesis):
    assert synthesis.modules["parity_6"].count == 2
    assert synthesis.top.name == "circuits"
    total = sum(OWN.values(), OWN["parity_6"])
    # CARRY8s are rounded up per module.
    assert synthesis.total == synthesis.inclusive("circuits") == total
    assert synthesis.inclusive("sum_16") == OWN["sum_16"]


def test_memories_became_what_they_were_to_be(synthesis):
    memories = [m for module in synthesis.modules.values() for m in module.memories]
    assert sorted(m.became for m in memories) == ["bram", "lutram", "uram"]
    assert synthesis.strayed == []


def test_the_depth_of_all_is_of_the_deepest(synthesis):
    assert synthesis.deepest.name == "product_12"
    assert (synthesis.depth.levels, synthesis.depth.most_chains) == (4, 1)
    assert synthesis.depth.most_carry == 17


def test_it_is_json_and_detected_by_class(synthesis):
    described = json.loads(json.dumps(synthesis.describe()))
    assert described["total"]["luts"] == synthesis.total.luts
    assert described["depth"]["module"] == "product_12"
    assert [m["name"] for m in described["modules"]] == list(OWN)
    assert [m.name for m in synthesis.of_class("Sum")] == ["sum_16"]


def test_progress_counts_to_the_end_and_errors_come_out(emission):
    heard = []

    def cache(kind, key, make):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        synthesise(emission, cache)
    synthesise(emission, cached_folder, lambda *said: heard.append(said))
    assert [said[:2] for said in heard] == [(n, 8) for n in range(1, 9)]
    assert {said[2] for said in heard} == set(OWN)


def nameless(emission):
    """Return modules' names by their RTLIL and that of all that they place, without the names.

    Of modules that differ by name alone it is the first one's.
    """
    names, texts = re.compile(rf"\\(?:{'|'.join(emission.modules)})(?=\s)"), {}
    for name, module in emission.modules.items():
        below = "".join(texts[child] for child in module.instances)
        texts[name] = below + names.sub("", module.rtlil)
    return {text: name for name, text in reversed(texts.items())}


@pytest.mark.parametrize("changes", [{"engines": 2}, {"slots": 512}], ids=str)
def test_designs_share_modules_that_are_equal_but_for_names(changes, monkeypatch, tmp_path):
    design = find_design("p4sgd-worker")
    mapped = Mock(return_value=mapping.MappedModule(ports={}, cells={}, names={}))

    def worker(changes):
        params = make_params(design.params_class, design.settings_of("tiny"), changes)
        return emission_of(design.make(params), generated=True)

    def mapped_for(emission):
        mapped.reset_mock()
        assert [*synthesise(emission, cached_folder).modules] == [*emission.modules]
        return {call.args[0] for call in mapped.call_args_list}

    first, second = worker({}), worker(changes)
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    monkeypatch.setattr(mapping, "map_module", mapped)
    known, texts = nameless(first), nameless(second)
    assert mapped_for(first) == set(known.values())
    assert mapped_for(second) == (new := {texts[text] for text in texts.keys() - known.keys()})
    assert len(new) < len(second.modules.keys() - first.modules.keys())
    assert mapped_for(first) == set()
