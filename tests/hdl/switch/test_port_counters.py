"""Counts events of ports in any cycle, also while the counters are cleared."""

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.p4sgd.switch.params import SwitchParams
from hdl.switch.port_counters import (
    PORT_COUNTER_BITS,
    PORT_COUNTERS,
    PORT_COUNTS,
    PortCounters,
)
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.counters import CYCLES, cleared

PARAMS = SwitchParams(ports=5)


def test_port_counters():
    simulate(PortCounters(PARAMS), __name__, registers=tuple(PORT_COUNTERS))


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
        for item, row in enumerate(counts):
            for name in row:
                row[name] = 0 if clear else row[name] + (happened[name] >> item & 1)
        happened = events
    dut.events.value = 0
    await RisingEdge(dut.clk)
    for bit in range(4, PORT_COUNTER_BITS + 1):  # over each bit, and at last around
        at = (1 << bit) - 2
        for name in PORT_COUNTERS:
            for port in ports:
                getattr(getattr(dut, f"port_{port}"), name).value = at - port
        dut.events.value = (1 << shape.size) - 1
        await ClockCycles(dut.clk, 4)
        dut.events.value = 0
        for port in ports:
            dut.port.value = port
            await ClockCycles(dut.clk, 3)
            expected = (at - port + 4) % (1 << PORT_COUNTER_BITS)
            counts = unpack(PORT_COUNTS, int(dut.counts.value))
            assert counts == dict.fromkeys(PORT_COUNTERS, expected)
