"""Checks the rows of what links carry, from figures that are made up."""

from sim.switchgnn.bench.links import judge


def test_both_figures_are_held_to_their_limits():
    for sent, again, expected in ((1050, 150, [True, True]), (1051, 151, [False, False])):
        clean = {"planned_bytes": 1000, "bytes": sent}
        found = judge(clean, {"lost": 100, "repeats": again})
        assert [row.holds for row in found] == expected
        assert [row.value for row in found] == [(sent - 1000) / 1000, again / 100]
