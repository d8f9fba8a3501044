import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.event_counters import CountersParams, EventCounters
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.upset import start_upset
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.counters import registers_of, some_counters, some_events

SIZES = {3: 8, 24: 48}  # counters, and their bits: the last as the SNIC has them


@pytest.mark.parametrize("count", SIZES)
def test_event_counters(count):
    params = some_counters(count, SIZES[count])
    names = [name for name, _ in params.counters]
    simulate(EventCounters(params), __name__, registers=names)


def counts(dut, params):
    """Return the counters in their order."""
    return list(unpack(params.counts, int(dut.counts.value)).values())


@cocotb.test()
async def adds_up_and_wraps(dut):
    """It adds each cycle's events and clears, after a reset in the middle of some."""
    params = params_in_simulator(CountersParams)
    await start_upset(dut)
    total = waiting = [0] * len(params.counters)
    for k in range(1000):
        clear, events = int(k < 400 and random.random() < 0.05), some_events(params)
        dut.clear.value, dut.events.value = clear, pack(params.events, events)
        await RisingEdge(dut.clk)
        assert counts(dut, params) == total
        sums = zip(total, waiting, strict=True)
        total = [0 if clear else (old + new) % (1 << params.bits) for old, new in sums]
        waiting = list(events.values())
    dut.events.value = 0
    await ClockCycles(dut.clk, EventCounters.latency)
    assert counts(dut, params) == [
        (old + new) % (1 << params.bits) for old, new in zip(total, waiting, strict=True)
    ]


@cocotb.test()
async def counts_over_every_bit(dut):
    """It counts from below each power of two, the last of which is one bit too large."""
    params = params_in_simulator(CountersParams)
    dut.clear.value = dut.events.value = 0
    await start(dut)
    await ClockCycles(dut.clk, 1)  # a group is still reset
    most = {name: (1 << bits) - 1 for name, bits in params.counters}
    for bit in range(3, params.bits + 1):
        at = (1 << bit) - 2
        for register in registers_of(dut, params).values():
            register.value = at
        dut.events.value = pack(params.events, most)
        await RisingEdge(dut.clk)
        dut.events.value = 0
        await ClockCycles(dut.clk, EventCounters.latency + 1)
        expected = [(at + most[name]) % (1 << params.bits) for name, _ in params.counters]
        assert counts(dut, params) == expected


def test_rejects():
    with pytest.raises(ValueError, match="each a different one: a, a"):
        CountersParams(name="x", counters=(("a", 1), ("a", 1)))
    with pytest.raises(ValueError, match="must have from 1 to 7 bits"):
        CountersParams(name="x", counters=(("a", 8),), bits=8)
