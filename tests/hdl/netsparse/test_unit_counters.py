import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.rig.unit import UNIT_EVENTS
from hdl.netsparse.routing import UnitsParams
from hdl.netsparse.snic_counters import UNIT_COUNTERS
from hdl.netsparse.unit_counters import UnitCounters
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import simulate

UNITS = 3
NAMES = [name for name, _ in UNIT_COUNTERS.counters]


def test_unit_counters():
    registers = [*NAMES, "behind"]  # the latter so that banks can be entered
    simulate(UnitCounters(UnitsParams(units=UNITS)), __name__, registers=registers)


async def values(dut, unit):
    found = {}
    dut.unit.value = unit
    for k, name in enumerate(NAMES):
        dut.select.value = k
        await ClockCycles(dut.clk, UnitCounters.latency + 1)
        found[name] = int(dut.value.value)
    return found


@cocotb.test(timeout_time=100, timeout_unit="us")
async def counts_each_unit_alone(dut):
    events = [getattr(dut, f"events_{k}") for k in range(UNITS)]
    for port in (*events, dut.clear, dut.unit, dut.select):
        port.value = 0
    await start(dut)
    totals = [dict.fromkeys(NAMES, 0) for _ in range(UNITS)]
    for _ in range(2500):
        for total, port in zip(totals, events, strict=True):
            beat = {name: random.getrandbits(field.width) for name, field in UNIT_EVENTS}
            port.value = pack(UNIT_EVENTS, beat)
            for name, value in beat.items():
                total[name] += value
        await RisingEdge(dut.clk)
    for port in events:
        port.value = 0
    await ClockCycles(dut.clk, 3)
    for unit in range(UNITS):
        assert await values(dut, unit) == totals[unit]
    bits = UNIT_COUNTERS.bits
    large = [{name: random.getrandbits(bits) for name in NAMES} for _ in range(UNITS)]
    for flip in (0, (1 << bits) - 1):
        shown = [{name: total ^ flip for name, total in one.items()} for one in large]
        for unit, one in enumerate(shown):
            for name, total in one.items():
                getattr(getattr(dut, f"bank_{unit}").counters, name).value = total
        await RisingEdge(dut.clk)
        assert [await values(dut, unit) for unit in range(UNITS)] == shown
    for unit in range(UNITS, 32):
        dut.unit.value = unit
        await ClockCycles(dut.clk, UnitCounters.latency + 1)
        assert dut.value.value == 0, "no such unit"
    dut.clear.value = 1
    await RisingEdge(dut.clk)
    dut.clear.value = 0
    for unit in range(UNITS):
        assert not any((await values(dut, unit)).values())


@cocotb.test(timeout_time=100, timeout_unit="us")
async def shows_a_counter_after_its_latency(dut):
    for port in (dut.events_0, dut.events_1, dut.events_2, dut.clear, dut.unit):
        port.value = 0
    dut.select.value = NAMES.index("prs")
    await start(dut)
    dut.events_1.value = pack(UNIT_EVENTS, {"prs": 1})
    await RisingEdge(dut.clk)
    dut.events_1.value = 0
    await ClockCycles(dut.clk, 8)
    dut.unit.value = 1
    waited = -1
    while not dut.value.value:
        await RisingEdge(dut.clk)
        waited += 1
    assert waited == 1, "a register behind the choice of a unit"
