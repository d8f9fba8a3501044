"""Tests which instances constraints name."""

import pytest
from amaranth.hdl import ClockSignal, Const, Signal
from amaranth.lib.wiring import Out

from gen.base.emission.emit import emit
from gen.floorplan.cells import cells_of
from gen.floorplan.hierarchy import Hierarchy
from gen.floorplan.plan import Plan, PlanPart
from hdl.common.component import Component
from hdl.common.crossing.synchroniser import Synchroniser, SynchroniserParams
from tests.gen.floorplan.design import MAC, Board, Consumer


def cells(top, *parts):
    result = cells_of(Hierarchy(emit(top), Plan(parts=parts)))
    return {name: ["/".join(path) for path in paths] for name, paths in result.items()}


def test_beside_what_must_stay_free():
    # The group has a way and delays inside, the pad and the MAC are the vendor's.
    assert cells(Board()) == {"hub": ["group/consumer", "near", "producer"]}


def test_what_the_plan_names():
    mac = PlanPart(name="mac", cells=("mac",))
    consumer = PlanPart(name="far", cells=("group/consumer",))
    assert cells(Board(), mac, consumer) == {
        "hub": ["near", "producer"],
        "mac": ["mac"],
        "far": ["group/consumer"],
    }


class Port(Component):
    """Has a MAC with the level that comes from it, in a component of its own if there is one."""

    vendor_ips = (MAC,)

    def __init__(self, params):
        super().__init__(params, status=Out(2))

    def build(self, m):
        status = Signal(2)
        m.submodules.mac = MAC.place(core_clk=ClockSignal(), frame=Const(0, 7), status=status)
        m.submodules.near = near = Consumer()
        if self.params == "level":
            m.submodules.level = level = Synchroniser(SynchroniserParams(shape=2))
            m.d.comb += [level.i.eq(status), near.mode.eq(level.o)]
        m.d.comb += self.status.eq(near.heard[:2])


class Ports(Component):
    def __init__(self, params):
        super().__init__(params, status=Out(2))

    def build(self, m):
        m.submodules.port = port = Port(self.params)
        m.d.comb += self.status.eq(port.status)


def test_the_vendor_s_is_left_where_it_is():
    assert cells(Ports("level")) == {"hub": ["port/level", "port/near"]}
    assert cells(Ports("no level")) == {"hub": ["port/near"]}


@pytest.mark.parametrize("path", ["port", "po*"])
def test_but_not_in_a_part_of_its_own(path):
    far = PlanPart(name="far", cells=(path,))
    assert cells(Ports("level"), far) == {"hub": [], "far": ["port"]}
