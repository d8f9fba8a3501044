"""Follows a design's wires, one by one."""

import pytest
from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, ResetSignal, Signal
from amaranth.lib.wiring import In, Out

from gen.base.emission.emit import emit
from gen.floorplan.hierarchy import Hierarchy
from gen.floorplan.parts import vendor_outputs
from gen.floorplan.plan import Plan, PlanPart
from gen.floorplan.wires import CLOCK, VENDOR_CLOCK, Wire, Wires, mirrored
from hdl.common.component import Component
from hdl.common.crossing.reset_synchroniser import ResetSynchroniser, ResetSynchroniserParams
from hdl.common.stream_pipeline import StreamPipeline, StreamPipelineParams
from hdl.u280.vendor import VendorIp, VendorPort
from tests.gen.floorplan.design import Board, Consumer


def wires(*parts, outputs=None):
    board = emit(Board())
    hierarchy = Hierarchy(board, Plan(parts=parts))
    return list(Wires(hierarchy, vendor_outputs(board) if outputs is None else outputs))


PLL = VendorIp(
    name="pll",
    vlnv="vendor:ip:pll:1.0",
    ports=(VendorPort(name="out", direction="output", bits=2),),
)


class Clocked(Component):
    """Has a clock and a reset from an IP's port of another name, which logic reads, too."""

    vendor_ips = (PLL,)

    def __init__(self, params):
        super().__init__(params, o=Out(5))

    def build(self, m):
        m.domains.fast = ClockDomain(local=True)
        m.submodules.pll = PLL.place(out=Cat(ClockSignal("fast"), ResetSignal("fast")))
        if self.params == "instance":
            m.submodules.consumer = consumer = DomainRenamer("fast")(Consumer())
            m.d.comb += self.o.eq(consumer.heard ^ ResetSignal("fast"))
        else:
            m.d.fast += self.o.eq(self.o + ClockSignal("fast"))


@pytest.mark.parametrize("params", ["instance", "register"])
def test_a_generated_clock_joins_nothing_and_a_reset_is_a_wire_like_any_other(params):
    emission = emit(Clocked(params))
    hierarchy = Hierarchy(emission, Plan(parts=(PlanPart(name="pll", cells=("pll",)),)))
    assert list(Wires(hierarchy, vendor_outputs(emission))) == [Wire("pll", (("hub", 0),))]


class Resets(Component):
    """Has two consumers and a way between them, with a register that resets all of them."""

    def __init__(self, params):
        super().__init__(params, i=In(5), o=Out(5))

    def build(self, m):
        m.domains.fast = ClockDomain(local=True)
        reset = Signal()
        m.d.sync += reset.eq(self.i[0])
        m.d.comb += [ClockSignal("fast").eq(ClockSignal()), ResetSignal("fast").eq(reset)]
        m.submodules.first = first = Consumer()
        m.submodules.second = second = Consumer()
        path = StreamPipeline(StreamPipelineParams(shape=5))
        m.submodules.path = DomainRenamer("fast")(path)
        m.d.comb += [
            first.i.payload.eq(self.i),
            first.i.valid.eq(1),
            path.i.payload.eq(first.heard),
            path.i.valid.eq(1),
            path.o.ready.eq(1),
            second.i.payload.eq(path.o.payload),
            second.i.valid.eq(path.o.valid),
            self.o.eq(second.heard),
        ]


def resets_to(name):
    """Return what the reset's register is joined with, if the consumer ``name`` lies apart."""
    plan = Plan(parts=(PlanPart(name="far", cells=(name,)),))
    result = Wires(Hierarchy(emit(Resets(None)), plan), {})
    return [wire.sinks for wire in result if "logic" in wire.port and wire.source == "hub"]


def test_the_reset_of_a_path_comes_in_at_its_source():
    assert resets_to("second") == []
    assert resets_to("first") == [(("far", 0),)]


class Caught(Component):
    """Has a reset that a synchroniser on another die makes of a register's."""

    def __init__(self, params):
        super().__init__(params, i=In(1), o=Out(1))

    def build(self, m):
        cause = Signal()
        m.submodules.far = far = ResetSynchroniser(ResetSynchroniserParams())
        m.d.sync += cause.eq(self.i)
        m.d.comb += [far.i.eq(cause), self.o.eq(far.reset)]


def test_what_is_not_timed_joins_nothing():
    far = PlanPart(name="far", cells=("far",))
    assert list(Wires(Hierarchy(emit(Caught(None)), Plan(parts=(far,))), {})) == []


MAC = PlanPart(name="mac", cells=("mac",))


def test_clocks_join_nothing():
    assert wires(MAC).count(Wire("mac", (("hub", 2),))) == 2
    assert wires(MAC).count(Wire("hub", (("mac", 2),))) == 7
    assert len(wires(MAC)) == 9


def test_inside_a_part_nothing_is_joined():
    assert wires() == []


def test_ports_of_unknown_direction_are_driven_by_whom_they_are_not():
    # Nothing is known of the MAC: its frame has a driver, its status has none but the MAC.
    assert sorted(wires(MAC, outputs={}), key=str) == sorted(wires(MAC), key=str)


@pytest.mark.parametrize(
    ("pattern", "clocks", "others"),
    [
        (CLOCK, "clk read_clk", "first clk_count soft_reset write_rst"),
        (
            VENDOR_CLOCK,
            "axi_aclk HBM_REF_CLK_0 gt_txusrclk2 gt_ref_clk_p",
            "tx_axis_tdata AXI_00_ARESET_N first usr_rx_reset",
        ),
    ],
)
def test_names_of_clocks(pattern, clocks, others):
    assert all(pattern.fullmatch(name) for name in clocks.split())
    assert not any(pattern.fullmatch(name) for name in others.split())


def test_sides_of_a_path():
    names = ["i_payload", "o_ready", "empty", "i", "other_side"]
    assert [mirrored(n) for n in names] == ["o_payload", "i_ready", "empty", "o", "other_side"]
