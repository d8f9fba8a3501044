"""Checks the rows of the switch's depth, from figures that are made up."""

from sim.netsparse.bench.depth import row


def module(component, levels):
    return {"component": component, "depth": {"most_levels": levels}}


def test_a_row_holds_the_deepest_module_to_the_limit():
    for levels, holds in ((8, True), (9, False)):
        modules = [module("Crossbar", 3), module("Concatenator", levels), module("Fifo", 1)]
        found = row("small", {"modules": modules, "depth": {"most_levels": levels}})
        assert (found.value, found.holds) == (levels, holds)
        assert found.note.startswith("in Concatenator,")
