"""Computes figures of a given placement."""

import pytest

from gen.floorplan.model import Floorplan, wires_across
from gen.synth.device import U280
from gen.synth.resources import Resources
from tests.gen.floorplan.plans import link, part, small_device

PARTS = (part("a", 100, uram=10), part("b", 300), part("c", 200, uram=25))
LINKS = (link("a", "b", 4), link("b", "c", 6), link("c", "a", 5))


def placed(**assignment):
    return Floorplan(device=small_device(), parts=PARTS, links=LINKS, assignment=assignment)


def test_use():
    use = placed(a=0, b=2, c=0).use
    assert use == (Resources(lut=300, uram=35), Resources(), Resources(lut=300))


@pytest.mark.parametrize(
    ("assignment", "wires"),
    [
        ({"a": 0, "b": 0, "c": 0}, (0, 0)),
        ({"a": 0, "b": 1, "c": 1}, (9, 0)),
        ({"a": 0, "b": 1, "c": 2}, (9, 11)),
        ({"a": 2, "b": 1, "c": 0}, (11, 9)),
    ],
)
def test_wires(assignment, wires):
    floorplan = placed(**assignment)
    assert floorplan.wires == wires
    assert floorplan.objective == sum(wires)


def test_shared_wires():
    links = [
        link("a", "b", 4, shared="s"),
        link("a", "c", 4, shared="s"),
        link("a", "c", 3, shared="t"),
        link("b", "c", 1),
    ]
    assert wires_across(links, {"a": 0, "b": 1, "c": 1}, 0) == 4 + 3
    assert wires_across(links, {"a": 0, "b": 1, "c": 2}, 0) == 4 + 3
    assert wires_across(links, {"a": 0, "b": 1, "c": 2}, 1) == 4 + 3 + 1


def test_fill_is_that_of_the_scarcest_kind():
    assert placed(a=0, b=1, c=2).fill == pytest.approx(300 / 1000)
    assert placed(a=0, b=1, c=0).fill == pytest.approx(35 / 100)


def test_parts_of_an_slr_in_their_order():
    assert [p.name for p in placed(a=1, b=0, c=1).parts_of(1)] == ["a", "c"]


def test_budgets_take_the_shell_off():
    slr = U280.slrs[0]
    assert slr.budget["luts"] == 439_680 * 70 // 100 - 70_000
    assert slr.budget["uram"] == 256
