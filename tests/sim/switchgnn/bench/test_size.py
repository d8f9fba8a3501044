"""The rows of the full switch's size, from figures that are made up."""

import pytest

from sim.switchgnn.bench.size import held

WITHIN = {"luts": 120_000, "ff": 220_000, "uram": 560}


def module(component, levels):
    return {"component": component, "depth": {"most_levels": levels}}


@pytest.mark.parametrize("broken", [None, *WITHIN, "levels"])
def test_each_figure_is_held_to_its_limit(broken):
    total = {kind: most + (kind == broken) for kind, most in WITHIN.items()}
    modules = [module("Fifo", 1), module("Judge", 9 if broken == "levels" else 8)]
    found = held({"total": total, "modules": modules})
    assert [row.value for row in found] == [*total.values(), modules[1]["depth"]["most_levels"]]
    assert [row.holds for row in found] == [broken != kind for kind in (*WITHIN, "levels")]
    assert found[-1].note.startswith("in Judge,")
