"""Wire by wire."""

import pytest
from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal
from amaranth.lib.wiring import Out

from gen.emission.emit import emit
from gen.floorplan.hierarchy import Hierarchy
from gen.floorplan.parts import vendor_outputs
from gen.floorplan.plan import Plan, PlanPart
from gen.floorplan.wires import GLOBAL, VENDOR_GLOBAL, Wire, Wires, mirrored
from hdl.common.component import Component
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
    """A clock and a reset that an IP's port of another name gives; logic reads them, too."""

    vendor_ips = (PLL,)

    def __init__(self, params):
        super().__init__(params, {"o": Out(5)})

    def elaborate(self, platform):
        m = Module()
        m.domains.fast = ClockDomain(local=True)
        m.submodules.pll = PLL.place(out=Cat(ClockSignal("fast"), ResetSignal("fast")))
        if self.params == "instance":
            m.submodules.consumer = consumer = DomainRenamer("fast")(Consumer())
            m.d.comb += self.o.eq(consumer.heard ^ ResetSignal("fast"))
        else:
            m.d.fast += self.o.eq(self.o + ClockSignal("fast"))
        return m


@pytest.mark.parametrize("params", ["instance", "register"])
def test_made_clocks_and_resets_join_nothing(params):
    emission = emit(Clocked(params))
    hierarchy = Hierarchy(emission, Plan(parts=(PlanPart(name="pll", cells=("pll",)),)))
    assert list(Wires(hierarchy, vendor_outputs(emission))) == []


MAC = PlanPart(name="mac", cells=("mac",))


def test_clocks_and_resets_join_nothing():
    assert wires(MAC).count(Wire("mac", (("hub", 2),))) == 2
    assert wires(MAC).count(Wire("hub", (("mac", 2),))) == 7
    assert len(wires(MAC)) == 9


def test_inside_a_part_nothing_is_joined():
    assert wires() == []


def test_ports_of_unknown_direction_are_driven_by_whom_they_are_not():
    # Nothing is known of the MAC: its frame has a driver, its status has none but the MAC.
    assert sorted(wires(MAC, outputs={}), key=str) == sorted(wires(MAC), key=str)


@pytest.mark.parametrize("name", ["clk", "rst", "read_clk", "write_rst"])
def test_clocks_and_resets_of_components(name):
    assert GLOBAL.fullmatch(name)


@pytest.mark.parametrize("name", ["first", "clk_count", "soft_reset", "burst"])
def test_other_ports_of_components(name):
    assert not GLOBAL.fullmatch(name)


@pytest.mark.parametrize(
    "name", ["axi_aclk", "AXI_00_ARESET_N", "sys_rst_n", "aresetn", "gt_txusrclk2", "usr_rx_reset"]
)
def test_clocks_and_resets_of_the_vendor(name):
    assert VENDOR_GLOBAL.fullmatch(name)


@pytest.mark.parametrize("name", ["tx_axis_tdata", "AXI_00_ARVALID", "first", "s_axi_burst"])
def test_other_ports_of_the_vendor(name):
    assert not VENDOR_GLOBAL.fullmatch(name)


def test_sides_of_a_way():
    names = ["i_payload", "o_ready", "empty", "i", "other_side"]
    assert [mirrored(n) for n in names] == ["o_payload", "i_ready", "empty", "o", "other_side"]
