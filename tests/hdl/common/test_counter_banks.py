import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.counter_banks import CounterBanks, CounterBanksParams
from sim.harness.payloads import pack
from sim.harness.streams import start, strobe
from sim.harness.verilator import simulate
from tests.hdl.common.counters import selected, some_counters, some_events

PARTS = 3
COUNTERS = some_counters(20, 40)
NAMES = [name for name, _ in COUNTERS.counters]


def test_counter_banks():
    registers = [*NAMES, "behind"]  # the latter so that banks can be entered
    simulate(
        CounterBanks(CounterBanksParams(counters=COUNTERS, count=PARTS)),
        __name__,
        registers=registers,
    )


async def values(dut, part):
    dut.part.value = part
    return await selected(dut, NAMES, CounterBanks.latency)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def counts_each_part_alone(dut):
    events = [getattr(dut, f"events_{k}") for k in range(PARTS)]
    for port in (*events, dut.clear, dut.part, dut.select):
        port.value = 0
    await start(dut)
    totals = [dict.fromkeys(NAMES, 0) for _ in range(PARTS)]
    for _ in range(2500):
        for total, port in zip(totals, events, strict=True):
            beat = some_events(COUNTERS)
            port.value = pack(COUNTERS.events, beat)
            for name, value in beat.items():
                total[name] += value
        await RisingEdge(dut.clk)
    for port in events:
        port.value = 0
    await ClockCycles(dut.clk, 3)
    for part in range(PARTS):
        assert await values(dut, part) == totals[part]
    bits = COUNTERS.bits
    large = [{name: random.getrandbits(bits) for name in NAMES} for _ in range(PARTS)]
    for flip in (0, (1 << bits) - 1):
        shown = [{name: total ^ flip for name, total in item.items()} for item in large]
        for part, item in enumerate(shown):
            for name, total in item.items():
                getattr(getattr(dut, f"bank_{part}").counters, name).value = total
        await RisingEdge(dut.clk)
        assert [await values(dut, part) for part in range(PARTS)] == shown
    for part in range(PARTS, 32):
        dut.part.value = part
        await ClockCycles(dut.clk, CounterBanks.latency + 1)
        assert dut.value.value == 0, "no such part"
    await strobe(dut.clear, dut.clk)
    for part in range(PARTS):
        assert not any((await values(dut, part)).values())


@cocotb.test(timeout_time=100, timeout_unit="us")
async def shows_a_counter_after_its_latency(dut):
    for port in (dut.events_0, dut.events_1, dut.events_2, dut.clear, dut.part):
        port.value = 0
    dut.select.value = 1
    await start(dut)
    dut.events_1.value = pack(COUNTERS.events, {NAMES[1]: 1})
    await RisingEdge(dut.clk)
    dut.events_1.value = 0
    await ClockCycles(dut.clk, 8)
    dut.part.value = 1
    waited = -1
    while not dut.value.value:
        await RisingEdge(dut.clk)
        waited += 1
    assert waited == 1, "a register behind the choice of a part"
