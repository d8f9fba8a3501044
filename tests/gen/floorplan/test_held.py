"""Tests in which part the registers of a way between parts lie."""

import pytest
from amaranth.lib.wiring import In, Out

from gen.base.emission.emit import emit
from gen.floorplan.held import held_of, positions
from gen.floorplan.hierarchy import Hierarchy
from gen.floorplan.model import FloorplanError, Held
from gen.floorplan.plan import Plan, PlanPart
from gen.floorplan.wires import Wires
from hdl.common.component import Component
from hdl.common.crossing.synchroniser import Synchroniser, SynchroniserParams
from hdl.common.wire_pipeline import WirePipeline, WirePipelineParams
from tests.gen.floorplan.design import Consumer


@pytest.mark.parametrize(
    ("stages", "source", "target", "slrs"),
    [
        (2, 0, 1, [0, 1]),
        (3, 0, 1, [0, 0, 1]),
        (4, 1, 0, [1, 1, 0, 0]),
        (4, 0, 2, [0, 1, 1, 2]),
        (5, 2, 0, [2, 1, 1, 1, 0]),
        (6, 0, 2, [0, 0, 1, 1, 1, 2]),
    ],
)
def test_two_registers_at_each_edge(stages, source, target, slrs):
    assert positions(stages, source, target) == slrs


class Chain(Component):
    """Has two consumers, and between them ``params`` ways of one wire."""

    def __init__(self, params):
        super().__init__(params, i=In(1), o=Out(5))

    def build(self, m):
        m.submodules.near = near = Consumer()
        m.submodules.far = far = Consumer()
        wire = near.heard[0]
        m.d.comb += near.i.valid.eq(self.i)
        for k, component in enumerate(self.params):
            m.submodules[f"path_{k}"] = path = component
            m.d.comb += path.i.eq(wire)
            wire = path.o
        m.d.comb += [far.i.valid.eq(wire), self.o.eq(far.heard)]


def held(*ways):
    hierarchy = Hierarchy(emit(Chain(ways)), Plan(parts=(PlanPart(name="far", cells=("far",)),)))
    return list(held_of(hierarchy, Wires(hierarchy, {}), {"hub": 1, "far": 0}))


def test_a_path_to_another_slr():
    assert held(WirePipeline(WirePipelineParams(shape=1, stages=3))) == [
        Held("path_0/wires_1_reg*", 1),
        Held("path_0/wires_2_reg*", 1, at_edge=True),
        Held("path_0/o_reg*", 0, at_edge=True),
    ]


def test_a_synchroniser_lies_with_its_readers():
    assert held(Synchroniser(SynchroniserParams())) == [Held("path_0", 0)]


def test_ways_in_a_row_have_no_place_between():
    ways = [WirePipeline(WirePipelineParams(shape=1, stages=s)) for s in (2, 3)]
    with pytest.raises(FloorplanError, match=r"path_\d: no part is between it and another way"):
        held(*ways)
