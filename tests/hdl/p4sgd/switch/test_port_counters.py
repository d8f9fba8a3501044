"""Counters of ports and of the switch, with events in any cycle, also while they are cleared."""

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.port_counters import (
    PORT_COUNTERS,
    PORT_COUNTS,
    PortCounters,
    TotalCounters,
)
from sim.payloads import pack, unpack
from sim.streams import start
from sim.verilator import params_in_simulator, simulate

PARAMS = SwitchParams(ports=5)
CYCLES = 2500  # with a look at each
MANY = (30000, 43000)  # without one, three times: over a border of 16 bits
LAST = (1 << 17) - 2


def test_port_counters():
    simulate(PortCounters(PARAMS), __name__, test_filter="counts_every_port")


def test_total_counters():
    simulate(TotalCounters(), __name__, test_filter="counts_packets_and_cycles")


def cleared(k):
    """Whether in cycle ``k``: often at first, then never."""
    return int(k < 500 and random.random() < 0.05)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_every_port(dut):
    params = params_in_simulator(SwitchParams)
    shape = PortCounters(params).signature.members["events"].shape
    ports = range(params.ports)
    counts = [dict.fromkeys(PORT_COUNTERS, 0) for _ in ports]
    happened = dict.fromkeys(PORT_COUNTERS, 0)  # in the cycle before
    shown = None
    dut.clear.value = dut.port.value = dut.events.value = 0
    await start(dut)
    for k in range(CYCLES):
        clear, port = cleared(k), random.choice(ports)
        events = {
            name: random.getrandbits(params.ports) | random.getrandbits(params.ports)
            for name in PORT_COUNTERS
        }
        dut.clear.value, dut.port.value, dut.events.value = clear, port, pack(shape, events)
        await RisingEdge(dut.clk)
        if shown is not None:
            assert unpack(PORT_COUNTS, int(dut.counts.value)) == shown, k
        shown = dict(counts[port])
        for one, row in enumerate(counts):
            for name in row:
                row[name] = 0 if clear else row[name] + (happened[name] >> one & 1)
        happened = events
    for _ in range(3):
        many = random.randrange(*MANY)
        dut.events.value = (1 << shape.size) - 1
        await ClockCycles(dut.clk, many)
        dut.events.value = 0
        for port, row in enumerate(counts):
            for name in row:
                row[name] += many + (happened[name] >> port & 1)
            dut.port.value = port
            await ClockCycles(dut.clk, 3)
            assert unpack(PORT_COUNTS, int(dut.counts.value)) == row
        happened = dict.fromkeys(PORT_COUNTERS, 0)


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
    dut.saturated.value = 0
    k = CYCLES
    for last_time in (False, False, True):
        # At the end all bits but the lowest are ones.
        many = LAST - packets - event if last_time else random.randrange(*MANY)
        dut.taken.value = 1
        await ClockCycles(dut.clk, many)
        dut.taken.value = 0
        await ClockCycles(dut.clk, 2)
        packets, last, k = packets + event + many, k + many, k + many + 2
        event = 0
        found = int(dut.packets.value), int(dut.cycles.value)
        assert found == (packets, last - first + 1)
