"""Counters of ports and of the switch, with events in any cycle, also while they are cleared."""

import random

import cocotb
from amaranth.hdl import Module
from amaranth.lib.wiring import connect, flipped
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.component import Component
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.port_counters import (
    PORT_COUNTER_BITS,
    PORT_COUNTERS,
    PORT_COUNTS,
    TOTAL_BITS,
    PortCounters,
    TotalCounters,
)
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate

PARAMS = SwitchParams(ports=5)
CYCLES = 2500  # with a look at each


def test_port_counters():
    counters = tuple(f"{name}_*" for name in PORT_COUNTERS)
    simulate(PortCounters(PARAMS), __name__, test_filter="counts_every_port", registers=counters)


def test_total_counters():
    counters = ("elapsed", "packets", "saturations")
    simulate(Around(), __name__, test_filter="counts_packets_and_cycles", registers=counters)


class Around(Component):
    """The totals inside another module: a preset of a top's own port has no effect."""

    def __init__(self, params=None):
        super().__init__(params, dict(TotalCounters().signature.members))

    def elaborate(self, platform):
        m = Module()
        m.submodules.counters = counters = TotalCounters()
        connect(m, flipped(self), counters)
        return m


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
    dut.events.value = 0
    await RisingEdge(dut.clk)
    for bit in range(4, PORT_COUNTER_BITS + 1):  # over each bit, and at last around
        at = (1 << bit) - 2
        for name in PORT_COUNTERS:
            for port in ports:
                getattr(dut, f"{name}_{port}").value = at - port
        dut.events.value = (1 << shape.size) - 1
        await ClockCycles(dut.clk, 4)
        dut.events.value = 0
        for port in ports:
            dut.port.value = port
            await ClockCycles(dut.clk, 3)
            expected = (at - port + 4) % (1 << PORT_COUNTER_BITS)
            counts = unpack(PORT_COUNTS, int(dut.counts.value))
            assert counts == dict.fromkeys(PORT_COUNTERS, expected)


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
    counters = inner.packets, inner.saturations, inner.elapsed
    for bit in range(3, TOTAL_BITS + 1):  # over each bit, and at last around
        at = (1 << bit) - 3
        for counter in counters:
            counter.value = at
        dut.taken.value, dut.saturated.value = 1, 8
        await ClockCycles(dut.clk, 4)
        dut.taken.value = dut.saturated.value = 0
        await ClockCycles(dut.clk, 3)
        found = (int(port.value) for port in (dut.packets, dut.saturations, dut.cycles))
        assert [*found] == [(at + more) % (1 << TOTAL_BITS) for more in (4, 32, 4)]
