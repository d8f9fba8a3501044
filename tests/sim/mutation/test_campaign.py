"""Runs the mutation test of the sample, with its weak tests, from beginning to end."""

from collections import Counter
from pathlib import Path

import pytest

from sim.harness import cut_short
from sim.harness.verilator import Simulation
from sim.mutation.campaign import Plan, choose_sizes, examine, sizes_of
from sim.mutation.targets import Target
from tests.hdl.netlist_bench import Netlist, NetlistParams
from tests.sim.mutation import sample
from tests.sim.mutation.sample import Pair, SeenTally, Tally, TallyParams

HERE = Path(__file__).parent
TALLY = Target(component=Tally, source=Path(sample.__file__), tests=(HERE / "weak_test.py",))
MODULE = "tests.sim.mutation.weak_test"


def test_examine(monkeypatch):
    monkeypatch.setattr(cut_short, "TESTED", MODULE)  # it is reset under traffic, too
    said = []
    result = examine(TALLY, Plan(sample=25), said.append)
    assert result["error"] == ""
    assert result["component"] == "tests.sim.mutation.sample.Tally"
    assert result["key"] == Plan(sample=25).key(TALLY)
    assert [size["module"] for size in result["sizes"]] == ["tally_4"]
    assert result["sizes"][0]["simulations"] == 2
    groups = Counter(mutant["group"] for mutant in result["mutants"])
    assert groups["data"] + groups["fault"] == 25
    assert groups["control"] == 12
    fates = Counter(mutant["fate"] for mutant in result["mutants"])
    assert fates["found"] >= 10
    assert fates["survived"] >= 1  # the tests never fill it
    assert said[0] == "capturing"
    for mutant in result["mutants"]:
        assert bool(mutant["how"]) == (mutant["fate"] != "survived")
        assert bool(mutant["message"]) == (mutant["fate"] == "found")


def test_without_tests():
    result = examine(Target(component=Tally, source=TALLY.source, tests=()), Plan())
    assert result["error"] == "it has no tests"
    assert result["mutants"] == []


def test_key():
    assert Plan().key(TALLY) == Plan().key(TALLY)
    assert len({Plan(sample=n, seed=s).key(TALLY) for n in (1, 2) for s in (1, 2)}) == 4


@pytest.mark.parametrize(
    ("captured", "top"),
    [
        ([(Tally, 12), (Tally, 4), (Pair, 2)], "tally_4"),  # its own tests come first
        ([(Pair, 4)], "pair_4"),
        ([(SeenTally, 4)], "seen_tally_4"),  # derived, to have more in view
        ([], None),
    ],
)
def test_sizes(captured, top):
    simulations = [
        Simulation(component=kind, params=TallyParams(bits=bits), test_module=MODULE)
        for kind, bits in captured
    ]
    sizes = choose_sizes(TALLY, simulations)
    assert [size.emission.top.name for size in sizes] == ([] if top is None else [top])
    assert all("tally_" in size.module for size in sizes)


def test_a_component_whose_parts_are_empty_is_its_own():
    params = [TallyParams(bits=4), NetlistParams(subject=Tally, params=TallyParams(bits=12))]
    simulations = [
        Simulation(component=kind, params=of, test_module=MODULE)
        for kind, of in zip((Tally, Netlist), params, strict=True)
    ]
    assert [size.module for size in sizes_of(TALLY, simulations)] == ["tally_4", "tally_12"]
