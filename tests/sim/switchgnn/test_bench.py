"""Checks that the rows of SwitchGNN's benches hold what is measured to the limits."""

import pytest

from sim.switchgnn.bench.links import judge
from sim.switchgnn.bench.size import held


def test_both_figures_are_held_to_their_limits():
    for sent, again, expected in ((1050, 150, [True, True]), (1051, 151, [False, False])):
        clean = {"planned_bytes": 1000, "bytes": sent}
        result = judge(clean, {"lost": 100, "repeats": again})
        assert [row.holds for row in result] == expected
        assert [row.value for row in result] == [(sent - 1000) / 1000, again / 100]


WITHIN = {"luts": 120_000, "ff": 220_000, "uram": 560}
DEEP = ("levels", "chains", "crowded")


def module(component, levels, chains=0, nets=()):
    depth = {"most_levels": levels, "most_chains": chains}
    crowded = [{"driver": driver} for driver in nets]
    return {"name": component.lower(), "component": component, "depth": depth, "crowded": crowded}


@pytest.mark.parametrize("broken", [None, *WITHIN, *DEEP])
def test_each_figure_is_held_to_its_limit(broken):
    total = {kind: most + (kind == broken) for kind, most in WITHIN.items()}
    levels, chains = 9 if broken == "levels" else 8, 2 if broken == "chains" else 1
    nets = ["enable"] if broken == "crowded" else []
    modules = [module("Fifo", 1, chains), module("Judge", levels, nets=nets)]
    result = held({"total": total, "modules": modules})
    assert [row.value for row in result] == [*total.values(), levels, chains, len(nets)]
    assert [row.holds for row in result] == [broken != kind for kind in (*WITHIN, *DEEP)]
    assert result[3].note.startswith("in Judge,")
    assert result[4].note == "in Fifo"
    assert result[5].note == ("enable of judge" if nets else "")
