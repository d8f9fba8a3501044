import random
from collections import Counter

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.p4sgd.switch.params import Verdict
from hdl.switch.update_memory import UpdateMemory
from hdl.switch.verdict_counters import COUNTER_BITS, VerdictCounters, VerdictCountersParams
from sim.harness.streams import start, strobe
from sim.harness.verilator import params_in_simulator, simulate


@pytest.mark.parametrize("ports", [2, 5, 8])
def test_verdict_counters(ports):
    simulate(
        VerdictCounters(VerdictCountersParams(verdict=Verdict, sources=ports)),
        __name__,
        registers=["choice", "contents_1_1"],
    )


async def begin(dut):
    dut.verdict.value, dut.source.value, dut.clear.value = 0, 1, 0
    await start(dut)
    ports = params_in_simulator(VerdictCountersParams).sources
    return ports, 16 << (ports - 1).bit_length()


async def count(dut, events):
    for port, verdict in events:
        dut.source.value, dut.verdict.value = 1 << port, verdict
        await RisingEdge(dut.clk)
    dut.verdict.value = 0
    await ClockCycles(dut.clk, 5)


async def values(dut, ports):
    """Return the counters that are not zero."""
    result = {}
    for port in range(ports):
        for verdict in range(16):
            dut.number.value, dut.of.value = port, verdict
            await ClockCycles(dut.clk, 4)
            result[port, verdict] = int(dut.value.value)
    return {key: value for key, value in result.items() if value}


def mostly_one(ports, length):
    hot = random.randrange(ports), random.randrange(1, 16)
    for k in range(length):
        if k % 40 == 0:
            hot = random.randrange(ports), random.randrange(1, 16)
        yield hot if random.random() < 0.7 else (random.randrange(ports), random.randrange(16))


@cocotb.test(timeout_time=500, timeout_unit="us")
async def counts_one_every_cycle(dut):
    ports, depth = await begin(dut)
    await ClockCycles(dut.clk, depth - 1)
    assert dut.busy.value
    await ClockCycles(dut.clk, 2)
    assert not dut.busy.value
    events = list(mostly_one(ports, 5000))
    await count(dut, events)
    golden = Counter(event for event in events if event[1])
    assert await values(dut, ports) == golden
    # The same one, back to back, 70000 times: over a border of 16 bits.
    await count(dut, [(ports - 1, 15)] * 70000)
    golden[ports - 1, 15] += 70000
    assert await values(dut, ports) == golden


@cocotb.test(timeout_time=100, timeout_unit="us")
async def clear_sets_all_to_zero(dut):
    """Clearing sets all counters to zero, as does a reset."""
    ports, depth = await begin(dut)
    await ClockCycles(dut.clk, depth + 1)
    for clear in (dut.clear, dut.rst, dut.clear):
        await count(dut, mostly_one(ports, 500))
        assert await values(dut, ports)
        await strobe(clear, dut.clk)
        await ClockCycles(dut.clk, depth)
        assert dut.busy.value
        await RisingEdge(dut.clk)
        assert not dut.busy.value
        await ClockCycles(dut.clk, 5)
        assert await values(dut, ports) == {}
    await count(dut, [(0, 1)])
    assert await values(dut, ports) == {(0, 1): 1}


@cocotb.test(timeout_time=100, timeout_unit="us")
async def counts_over_every_bit(dut):
    """Counting carries through every bit, and the last one wraps."""
    ports, depth = await begin(dut)
    await ClockCycles(dut.clk, depth + 1)
    for bit in range(COUNTER_BITS + 1):
        port, verdict = random.randrange(ports), random.randrange(1, 16)
        dut.source.value, dut.verdict.value = 1 << port, verdict
        await RisingEdge(dut.clk)
        dut.verdict.value = 0
        await ClockCycles(dut.clk, UpdateMemory.lead)
        dut.counts.choice.value = 1  # the change of the cycle before, which is made to be this
        dut.counts.contents_1_1.value = (1 << bit) - 1
        dut.number.value, dut.of.value = port, verdict
        await ClockCycles(dut.clk, 5)
        assert int(dut.value.value) == (1 << bit) % (1 << COUNTER_BITS)
