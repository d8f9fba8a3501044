"""Tests which components are opened, and to which part each belongs."""

import pytest
from amaranth.lib.wiring import Out

from gen.base.emission.emit import emit
from gen.floorplan.hierarchy import Hierarchy, is_way, reach
from gen.floorplan.plan import Plan, PlanPart
from hdl.common.component import Component
from tests.gen.floorplan.design import Board, Group


class Nest(Component):
    """Has a group, ``params`` components deep."""

    def __init__(self, params):
        super().__init__(params, heard=Out(5))

    def build(self, m):
        m.submodules.inner = inner = Nest(self.params - 1) if self.params else Group()
        m.d.comb += self.heard.eq(inner.heard)


class NestParams(int):
    @property
    def suffix(self):
        return str(int(self))

    def __sub__(self, other):
        return NestParams(int(self) - other)


@pytest.fixture(scope="module")
def board():
    return emit(Board())


def named(items):
    return {"/".join(item.path): item.owner for item in items}


def test_opened_where_ways_are(board):
    hierarchy = Hierarchy(board, Plan())
    assert named(hierarchy.places) == {"": "hub", "group": "hub"}
    assert set(named(hierarchy.leaves)) == {
        "frame_path",
        "group/consumer",
        "group/heard_path",
        "group/mode_path",
        "group/path",
        "mac",
        "near",
        "pad",
        "producer",
        "status_path",
    }


def test_opened_however_deep():
    hierarchy = Hierarchy(emit(Nest(NestParams(2))), Plan())
    opened = {"", "inner", "inner/inner", "inner/inner/inner"}
    assert set(named(hierarchy.places)) == opened


def test_owners(board):
    far = PlanPart(name="far", cells=("group",), slr=1)
    inner = PlanPart(name="inner", cells=("group/consumer",))
    hierarchy = Hierarchy(board, Plan(parts=(far, inner), rest="rest", rest_slr=None))
    assert named(hierarchy.places) == {"": "rest", "group": "far"}
    owners = named(hierarchy.leaves)
    assert owners["group/path"] == "far"
    assert owners["group/consumer"] == "inner"
    assert owners["near"] == "rest"
    assert hierarchy.slrs == {"rest": None, "far": 1, "inner": None}


def test_ways(board):
    ways = {name for name, module in board.modules.items() if is_way(module)}
    assert {name: reach(board.modules[name]) for name in ways} == {
        "stream_pipeline_16_2": 1,
        "wire_pipeline_3_2": 1,
        "wire_pipeline_5_2": 1,
        "wire_pipeline_7_4": 2,
        "wire_pipeline_2_5": 2,
    }
