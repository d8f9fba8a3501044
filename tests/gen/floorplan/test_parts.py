"""Counts parts and links of a small design by hand."""

from dataclasses import replace

import pytest

from gen.base.emission.emit import emit
from gen.floorplan.model import FloorplanError, Link
from gen.floorplan.parts import floorplan, parts_and_links
from gen.floorplan.plan import Plan, PlanPart
from gen.synth.device import U280
from tests.gen.floorplan.design import Board, synthesis

FAR = PlanPart(name="far", cells=("group",))
MAC = PlanPart(name="mac", cells=("mac",), slr=2)
PLAN = Plan(parts=(FAR, MAC))


@pytest.fixture(scope="module")
def board():
    return emit(Board())


def of(board, plan=PLAN):
    return parts_and_links(board, synthesis(board), plan)


def test_parts(board):
    parts = {part.name: part for part in of(board)[0]}
    assert {name: part.slr for name, part in parts.items()} == {"hub": 0, "far": None, "mac": 2}
    assert parts["hub"].cells == ("near", "producer"), "pads lie where pins are"
    assert parts["far"].cells == ("group/consumer",), "the way may lie anywhere"
    assert parts["mac"].cells == ("mac",)


def test_amounts(board):
    amounts = {part.name: part.resources.lut for part in of(board)[0]}
    # All of the board is 74: its own logic is what the components leave of that.
    assert amounts == {"hub": 10 + 20 + (74 - 10 - 20 - 30), "far": 30, "mac": 0}


def test_links(board):
    links = of(board)[1]
    assert {(k.a, k.b, k.wires, k.registered) for k in links if not k.shared} == {
        ("hub", "far", 16 - 7 + 1 + 3, True),  # payload without what the MAC gets, valid, mode
        ("far", "hub", 1 + 5, True),  # ready, heard
        ("mac", "hub", 2, True),
    }
    shared = [link for link in links if link.shared]
    name = "hub to far by registers, mac by registers"
    bundle = {"wires": 7, "shared": name, "example": "producer/o_payload"}
    assert shared == [
        Link(a="hub", b="far", reach=1, **bundle),
        Link(a="hub", b="mac", reach=2, **bundle),
    ]


def test_a_wire_without_registers_says_so(board):
    beside = PlanPart(name="beside", cells=("near",))
    links = of(board, replace(PLAN, parts=(*PLAN.parts, beside)))[1]
    assert sum(k.wires for k in links if k.a == "hub" and k.b == "beside") == 16 + 1 + 3
    assert sum(k.wires for k in links if k.a == "beside" and k.b == "hub") == 1 + 5
    assert all(not k.registered for k in links if "beside" in (k.a, k.b))
    assert all(k.registered for k in links if k.b == "far"), "its wires are the same, longer ones"


def test_each_instance_a_part(board):
    consumers = PlanPart(name="consumers", cells=("near", "group/consumer"), each=True)
    parts = of(board, Plan(parts=(consumers,)))[0]
    assert [part.name for part in parts] == ["hub", "consumer", "near"]


def test_first_entry_of_the_plan_has_it(board):
    plan = Plan(parts=(PlanPart(name="one", cells=("group",)), PlanPart(name="two", cells=("g*",))))
    assert {part.name for part in of(board, plan)[0]} == {"hub", "one"}


def test_plan_that_names_nothing(board):
    plan = Plan(parts=(PlanPart(name="far", cells=("groop",)),))
    with pytest.raises(FloorplanError, match="board: the plan's far names no instance: groop"):
        of(board, plan)


def test_wires_of_logic_are_named_by_its_place(board):
    producer = PlanPart(name="producer", cells=("producer",))
    links = of(board, Plan(parts=(producer,)))[1]
    assert {k.example for k in links if k.b == "producer"} == {
        "mac/status",
        "that of logic in the top",
    }


def test_placed(board):
    result = floorplan(board, synthesis(board), U280, PLAN)
    assert result.assignment == {"hub": 0, "far": 0, "mac": 2}
    assert result.wires == (7 + 2, 7 + 2)


def test_what_has_no_registers_cannot_lie_apart(board):
    near = PlanPart(name="beside", cells=("near",), slr=1)
    with pytest.raises(
        FloorplanError,
        match=r"hub must lie in SLR0 and beside in SLR1, but no .* such as near/heard$",
    ):
        floorplan(board, synthesis(board), U280, Plan(parts=(near,)))


def test_the_same_every_time(board):
    assert of(board) == of(board)
