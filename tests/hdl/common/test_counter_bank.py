import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.counter_bank import CounterBank
from hdl.common.event_counters import CountersParams
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.upset import start_upset
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.counters import registers_of, some_counters, some_events

SIZES = {3: 8, 8: 8, 24: 48}  # counters, and their bits: the last as the SNIC has them


@pytest.mark.parametrize("count", SIZES)
def test_counter_bank(count):
    params = some_counters(count, SIZES[count])
    simulate(CounterBank(params), __name__, registers=[name for name, _ in params.counters])


@cocotb.test()
async def shows_the_counter_that_is_selected(dut):
    """Another one is selected each cycle; numbers after the last show 0."""
    params = params_in_simulator(CountersParams)
    await start_upset(dut)
    await ClockCycles(dut.clk, 1)  # a group is still reset
    some = [random.getrandbits(params.bits) for _ in params.counters]
    for flip in (0, (1 << params.bits) - 1):
        expected = [value ^ flip for value in some]
        for (name, _), value in zip(params.counters, expected, strict=True):
            registers_of(dut.counters, params)[name].value = value
        shown = []
        for _ in range(40 * len(params.counters)):
            select = random.randrange(1 << params.index_bits)
            dut.select.value = select
            await RisingEdge(dut.clk)
            shown.append(expected[select] if select < len(expected) else 0)
            if len(shown) > CounterBank.latency:
                assert dut.value.value == shown[-1 - CounterBank.latency]


@cocotb.test()
async def counts_until_it_is_cleared(dut):
    params = params_in_simulator(CountersParams)
    await start_upset(dut)
    expected = [0] * len(params.counters)
    for _ in range(30):
        events = some_events(params)
        dut.events.value = pack(params.events, events)
        await RisingEdge(dut.clk)
        expected = [old + new for old, new in zip(expected, events.values(), strict=True)]
    dut.events.value = 0
    for clear in (0, 1):
        dut.clear.value = clear
        await RisingEdge(dut.clk)
        dut.clear.value = 0
        for k, value in enumerate(expected):
            dut.select.value = k
            await ClockCycles(dut.clk, CounterBank.event_latency + CounterBank.latency)
            assert dut.value.value == (0 if clear else value % (1 << params.bits))


@cocotb.test()
async def shows_an_event_after_its_latency(dut):
    params = params_in_simulator(CountersParams)
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
