"""Counts events of the switch in any cycle, also while the counters are cleared."""

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.switch.total_counters import TOTAL_BITS, TotalCounters
from sim.harness.streams import start
from sim.harness.verilator import simulate
from tests.hdl.common.counters import CYCLES, cleared


def test_total_counters():
    counters = ("elapsed", "packets", "saturations")
    simulate(TotalCounters.sized(saturated=8), __name__, registers=counters)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_packets_and_cycles(dut):
    packets, first, last = 0, None, None  # cycles of the first and the last packet
    event = 0  # a packet of the cycle before
    total = step = 0  # of lanes, and those of the cycle before
    dut.clear.value = dut.taken.value = dut.saturated.value = 0
    await start(dut)
    for k in range(CYCLES):
        clear, taken = cleared(k), int(random.random() < (0.1 if k < 1000 else 0.9))
        saturated = random.randint(0, 8)
        dut.clear.value, dut.taken.value, dut.saturated.value = clear, taken, saturated
        await RisingEdge(dut.clk)
        assert (k, int(dut.saturations.value)) == (k, total)
        total, step = 0 if clear else total + step, saturated
        cycles = 0 if first is None else last - first + 1
        assert (k, int(dut.packets.value), int(dut.cycles.value)) == (k, packets, cycles)
        if clear:
            packets, first, last = 0, None, None
        elif event:
            packets, last = packets + 1, k
            first = k if first is None else first
        event = taken
    dut.taken.value = dut.saturated.value = 0
    await ClockCycles(dut.clk, 3)
    inner = dut.counters
    counters = inner.packets, inner.saturations, dut.elapsed
    for bit in range(3, TOTAL_BITS + 1):  # over each bit, and at last around
        at = (1 << bit) - 2 - bit % 2  # two wrong steps before it may cancel each other
        for counter in counters:
            counter.value = at
        dut.taken.value, dut.saturated.value = 1, 8
        await ClockCycles(dut.clk, 4)
        dut.taken.value = dut.saturated.value = 0
        await ClockCycles(dut.clk, 3)
        result = (int(port.value) for port in (dut.packets, dut.saturations, dut.cycles))
        assert [*result] == [(at + more) % (1 << TOTAL_BITS) for more in (4, 32, 4)]
