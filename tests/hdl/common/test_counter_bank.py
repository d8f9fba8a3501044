import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.counter_bank import CounterBank, CounterBankParams
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.upset import start_upset

SIZES = {1: 8, 8: 8, 24: 48}  # counters, and their bits: the last as the SNIC has them


@pytest.mark.parametrize("count", SIZES)
def test_counter_bank(count):
    counters = tuple((f"event_{k}", 1 + k % 3) for k in range(count))
    params = CounterBankParams(name="test", counters=counters, bits=SIZES[count])
    simulate(CounterBank(params), __name__, registers=[name for name, _ in counters])


async def values(dut, params):
    found = []
    for k in range(len(params.counters)):
        dut.select.value = k
        await ClockCycles(dut.clk, CounterBank.latency + 1 + random.getrandbits(1))
        found.append(int(dut.value.value))
    return found


@cocotb.test()
async def adds_up_and_wraps(dut):
    params = params_in_simulator(CounterBankParams)
    dut.clear.value = 0
    dut.events.value = 0
    await start_upset(dut)
    expected = [0] * len(params.counters)
    for cycles in (300, 60):  # the top bit of a sum of any width is set after one of them
        for _ in range(cycles):
            events = {name: random.getrandbits(bits) for name, bits in params.counters}
            dut.events.value = pack(params.events, events)
            await RisingEdge(dut.clk)
            sums = zip(expected, events.values(), strict=True)
            expected = [(old + new) % (1 << params.bits) for old, new in sums]
        dut.events.value = 0
        await ClockCycles(dut.clk, CounterBank.event_latency)
        assert await values(dut, params) == expected
    for behind in range(len(params.counters), 1 << params.index_bits):
        dut.select.value = behind
        await ClockCycles(dut.clk, CounterBank.latency + 1)
        assert dut.value.value == 0
    dut.clear.value = 1
    await RisingEdge(dut.clk)
    dut.clear.value = 0
    assert await values(dut, params) == [0] * len(params.counters)


@cocotb.test()
async def counts_over_every_bit(dut):
    """From a preset below each power of two, the last of which is one bit too large."""
    params = params_in_simulator(CounterBankParams)
    dut.clear.value = dut.events.value = 0
    await start(dut)
    most = {name: (1 << bits) - 1 for name, bits in params.counters}
    for bit in range(3, params.bits + 1):
        at = (1 << bit) - 2
        for name, _ in params.counters:
            getattr(dut, name).value = at
        dut.events.value = pack(params.events, most)
        await RisingEdge(dut.clk)
        dut.events.value = 0
        await ClockCycles(dut.clk, CounterBank.event_latency)
        expected = [(at + most[name]) % (1 << params.bits) for name, _ in params.counters]
        assert await values(dut, params) == expected


@cocotb.test()
async def counts_from_the_cycle_of_clear_on(dut):
    """What is still on its way to its counter is lost."""
    params = params_in_simulator(CounterBankParams)
    dut.clear.value = 0
    await start(dut)
    dut.events.value = pack(params.events, {name: 1 for name, _ in params.counters})
    await ClockCycles(dut.clk, 20)
    dut.clear.value = 1
    await RisingEdge(dut.clk)
    dut.clear.value = 0
    await ClockCycles(dut.clk, 4)
    dut.events.value = 0
    await ClockCycles(dut.clk, CounterBank.event_latency)
    assert await values(dut, params) == [5] * len(params.counters)


@cocotb.test()
async def shows_an_event_after_its_latency(dut):
    params = params_in_simulator(CounterBankParams)
    dut.clear.value = 1
    dut.events.value = 0
    dut.select.value = 0
    await start(dut)
    dut.clear.value = 0
    await ClockCycles(dut.clk, 4)
    dut.events.value = pack(params.events, {"event_0": 1})
    await RisingEdge(dut.clk)
    dut.events.value = 0
    await ClockCycles(dut.clk, CounterBank.event_latency + CounterBank.latency - 1)
    assert dut.value.value == 0
    await RisingEdge(dut.clk)
    assert dut.value.value == 1


def test_rejects():
    with pytest.raises(ValueError, match="each its own: a, a"):
        CounterBankParams(name="x", counters=(("a", 1), ("a", 1)))
    with pytest.raises(ValueError, match="less than 8 bits"):
        CounterBankParams(name="x", counters=(("a", 8),), bits=8)
