"""Accesses of a manager that is reset, in the middle or not, against a subordinate that is not."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.common.axi_guard import UNDER_WAY, AxiGuardParams
from hdl.common.crossing.axi_crossing import AxiCrossing
from sim.harness.streams import STALLS, crossed, never, often
from sim.harness.verilator import simulate
from tests.hdl.common.axi_accesses import Manager, Subordinate
from tests.hdl.common.crossing.clocks import RATIOS, start

BUSES = [
    AxiGuardParams(address_bits=20, data_bits=64),
    AxiGuardParams(address_bits=16, data_bits=32, lite=True),
]


@pytest.mark.parametrize("params", BUSES, ids=["axi4", "lite"])
def test_axi_crossing(params):
    simulate(AxiCrossing(params), __name__)


def test_crossings_know_their_clocks():
    crossings = AxiCrossing(BUSES[0]).crossings
    paths = {c.path: (c.source, c.target) for c in crossings if c.constraint == "async_fifo"}
    assert paths == {
        **dict.fromkeys(("aw", "w", "ar"), ("manager", "sync")),
        **dict.fromkeys(("b", "r"), ("sync", "manager")),
    }


async def begin(dut, ratio, stalls=(never, never)):
    near, far = await start(dut, manager=ratio[0], sync=ratio[1])
    subordinate, manager = Subordinate(far, stalls[1]), Manager(near, stalls[0])
    await far.edges(20)
    await near.edges(20)
    return manager, subordinate


@crossed(ratio=RATIOS[:4], stalls=STALLS)
async def every_access_is_answered(dut, ratio, stalls):
    manager, subordinate = await begin(dut, ratio, stalls.value)
    manager.access(60)
    await manager.done(subordinate)
    for channel in "br":
        assert getattr(manager, channel).moved == getattr(subordinate, channel).moved


@crossed(ratio=RATIOS[:4], ms=2)
async def a_reset_in_the_middle_leaves_nothing(dut, ratio):
    """However long it lasts, and wherever it falls; a burst that has begun ends with no strobe."""
    manager, subordinate = await begin(dut, ratio, (never, often))
    for cycles in (1, 2, 3, 5, 12, 60) * 8:
        manager.access(20)
        await manager.side.edges(random.randrange(1, 90))
        await manager.side.reset(cycles)
        manager.forget()
        if random.random() < 0.5:  # another one close behind, or accesses
            await manager.side.edges(random.randrange(1, 12))
            await manager.side.reset(cycles)
            manager.forget()
        manager.access(3)
        await manager.done(subordinate)
        manager.forget()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def accesses_wait_until_those_of_before_are_answered(dut):
    manager, subordinate = await begin(dut, RATIOS[2])
    subordinate.patient = True
    manager.access(5)
    await manager.side.edges(100)
    await manager.side.reset(4)
    manager.forget()
    manager.access(5)
    await manager.side.edges(200)
    assert len(subordinate.ar.beats) == 5
    assert not manager.r.beats + manager.b.beats
    subordinate.patient = False
    await manager.done(subordinate)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def no_more_than_its_limit_is_under_way(dut):
    manager, subordinate = await begin(dut, RATIOS[3])
    subordinate.patient = True
    manager.access(3 * UNDER_WAY)
    await manager.side.edges(2000)
    assert len(subordinate.ar.beats) == len(subordinate.aw.beats) == UNDER_WAY
    subordinate.patient = False
    await manager.done(subordinate)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_beat_a_cycle(dut):
    manager, subordinate = await begin(dut, (4000, 4000))
    manager.access(60)
    before, cycles = len(manager.reads), 0
    while len(manager.r.beats) < before:
        await RisingEdge(manager.side.clk)
        cycles += 1
    assert cycles <= before + 40, (cycles, before)
    await manager.done(subordinate)
