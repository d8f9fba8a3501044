import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.common.axi_guard import DATA_DUE, UNDER_WAY, AxiGuard, AxiGuardParams
from sim.harness.streams import STALLS, crossed, never, often
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.axi_accesses import Manager, Subordinate
from tests.hdl.common.crossing.clocks import Side, start
from tests.rejects import rejects

test_rejects = rejects(
    AxiGuardParams, ({"address_bits": 8, "data_bits": 64, "lite": True}, "data_bits must be 32")
)


@pytest.mark.parametrize("lite", [False, True], ids=["axi4", "lite"])
def test_axi_guard(lite):
    simulate(AxiGuard(AxiGuardParams(address_bits=16, data_bits=32, lite=lite)), __name__)


async def begin(dut):
    (side,) = await start(dut, sync=4000)
    for name in ("i_awvalid", "i_wvalid", "i_arvalid", "o_bvalid", "o_rvalid", "cut"):
        getattr(dut, name).value = 0
    for name in ("o_awready", "o_wready", "o_arready"):
        getattr(dut, name).value = 1
    await side.edges(4)
    return side


class CutSide(Side):
    """Shows the manager's end, whose reset is ``cut``."""

    def __init__(self, dut):
        super().__init__(dut, "sync")
        self.rst = dut.cut


async def begin_accesses(dut, stalls=(never, never)):
    side = await begin(dut)
    subordinate, manager = Subordinate(side, stalls[1]), Manager(CutSide(dut), stalls[0])
    await side.edges(4)
    return manager, subordinate


@crossed(stalls=STALLS)
async def accesses_pass(dut, stalls):
    manager, subordinate = await begin_accesses(dut, stalls.value)
    for _ in range(4):
        manager.access(60)
        await manager.done(subordinate)
        manager.forget()
    for channel in "br":
        assert getattr(manager, channel).moved == getattr(subordinate, channel).moved
    strobes = {beat["strb"] for beat in subordinate.w.moved}
    assert strobes == {0xF}


@crossed(stalls=STALLS, ms=2)
async def a_cut_in_the_middle_leaves_nothing(dut, stalls):
    """However long it lasts, and wherever it falls."""
    manager, subordinate = await begin_accesses(dut, stalls.value)
    for cycles in (1, 2, 3, 5, 12, 60) * 8:
        manager.access(20)
        await manager.side.edges(random.randrange(1, 90))
        await manager.side.reset(cycles)
        manager.forget()
        manager.access(3)
        await manager.done(subordinate)
        manager.forget()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def responses_from_before_a_cut_are_dropped(dut):
    """The manager need not take them, as it does not after its reset."""
    manager, subordinate = await begin_accesses(dut)
    manager.r.stall = manager.b.stall = lambda: True
    manager.access(5)
    await manager.side.edges(60)
    assert subordinate.r.beats
    assert subordinate.b.beats
    await manager.side.reset(4)
    manager.forget()
    await manager.side.edges(5 * 256 + 60)  # bursts have up to 256 beats
    assert not subordinate.r.beats + subordinate.b.beats
    manager.r.stall = manager.b.stall = never
    manager.access(5)
    await manager.done(subordinate)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def no_more_than_its_limits_is_under_way(dut):
    manager, subordinate = await begin_accesses(dut)
    subordinate.patient = True
    manager.access(3 * UNDER_WAY)
    await manager.side.edges(600)
    assert len(subordinate.ar.beats) == len(subordinate.aw.beats) == UNDER_WAY
    subordinate.patient = False
    await manager.done(subordinate)
    manager.forget()
    manager.w.stall = lambda: True
    manager.access(2 * DATA_DUE)
    await manager.side.edges(100)
    assert len(subordinate.aw.beats) == DATA_DUE
    manager.w.stall = often
    await manager.done(subordinate)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_beat_a_cycle(dut):
    manager, subordinate = await begin_accesses(dut)
    manager.access(60)
    before, cycles = max(len(manager.reads), len(manager.w.beats)), 0
    while len(manager.r.beats) < len(manager.reads) or manager.w.beats:
        await RisingEdge(manager.side.clk)
        cycles += 1
    assert cycles <= before + 20, (cycles, before)
    await manager.done(subordinate)


async def cycles_until(dut, name):
    """Return the number of edges after which ``name`` is high, and lower it after the last."""
    cycles = 0
    while not getattr(dut, name).value:
        await RisingEdge(dut.clk)
        cycles += 1
    return cycles


@cocotb.test(timeout_time=10, timeout_unit="us")
async def takes_its_latency(dut):
    side = await begin(dut)
    for channel in ("ar", "aw", "w"):
        getattr(dut, f"i_{channel}valid").value = 1
        await side.edges(1)  # it moves
        getattr(dut, f"i_{channel}valid").value = 0
        assert await cycles_until(dut, f"o_{channel}valid") == AxiGuard.latency


@crossed(cut=range(-1, 8), us=10)
async def a_cut_at_any_beat_ends_the_write(dut, cut):
    """The cut comes before, with or after each of its beats; those after it have no strobe."""
    side = await begin(dut)
    lite = params_in_simulator().lite
    beats = 1 if lite else 4
    if not lite:
        dut.i_awlen.value = beats - 1
    dut.i_awvalid.value, dut.i_wstrb.value = 1, 0xF
    strobes, taken = [], 0
    for cycle in range(-2, 30):
        dut.cut.value = cut <= cycle < cut + 5
        dut.i_wvalid.value = cycle <= cut
        await RisingEdge(dut.clk)
        if dut.i_awvalid.value and dut.i_awready.value:
            dut.i_awvalid.value = 0
        taken += bool(dut.i_wvalid.value & dut.i_wready.value)
        if dut.o_wvalid.value:
            strobes.append(int(dut.o_wstrb.value))
            assert lite or bool(dut.o_wlast.value) == (len(strobes) == beats)
    assert len(strobes) == beats
    assert strobes == [0xF] * taken + [0] * (beats - taken)
    dut.i_arvalid.value = 1
    await side.edges(8)
    assert not dut.i_arready.value  # as a response is due
    dut.o_bvalid.value = 1
    await side.edges(1)
    dut.o_bvalid.value = 0
    await side.edges(3)
    assert dut.i_arready.value
