"""Tests that a file has the events of a simulated design as they happened."""

import json
import random

import cocotb
import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.component import Component
from sim.harness.in_simulator import FINDINGS, report
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import simulate
from sim.surroundings.event_log import EVENT_LOG, EventLog

FIELDS = (("short", 7), ("whole", 32), ("long", 45), ("words", 90))
LOG = EventLog(3, FIELDS)
EVENT = data.StructLayout(dict(FIELDS))


class Logged(Component):
    """Logs ``event`` in each cycle in which ``happens`` is high."""

    def __init__(self, params=None):
        super().__init__(params, happens=In(1), event=In(EVENT), ends=In(1))

    def build(self, m):
        now = Signal(32)
        m.d.sync += now.eq(now + 1)
        LOG.add(m, now, self.ends, self.happens, {name: self.event[name] for name, _ in FIELDS})


def test_event_log(tmp_path):
    log, result = tmp_path / "events.bin", tmp_path / "result.json"
    arguments = {"plusargs": [LOG.argument(log)], "env": {FINDINGS: str(result)}}
    simulate(Logged(), __name__, extra_sources=[EVENT_LOG], **arguments)
    expected = np.array(
        [(at, a, b, c, tuple(words)) for at, a, b, c, words in json.loads(result.read_text())],
        LOG.dtype,
    )
    events = LOG.read(log)
    assert len(events) > 5
    assert np.array_equal(events["cycle"] - events["cycle"][0], expected["cycle"])
    for name, _ in FIELDS:
        assert np.array_equal(events[name], expected[name])


def test_widths_are_as_said():
    values = {name: Signal(bits) for name, bits in FIELDS} | {"long": Signal(44)}
    with pytest.raises(ValueError, match="long has 44 bits, not 45"):
        LOG.add(Module(), Signal(32), Signal(), 1, values)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def events_at_random(dut):
    dut.happens.value = dut.ends.value = 0
    await start(dut)
    reported, first = [], None
    for k in range(60):
        happens = random.random() < 0.5
        event = {name: random.getrandbits(bits) for name, bits in FIELDS}
        dut.happens.value, dut.event.value = happens, pack(EVENT, event)
        await RisingEdge(dut.clk)
        if happens:
            first = k if first is None else first
            words = [event["words"] >> 32 * j & 0xFFFFFFFF for j in range(3)]
            reported.append([k - first, event["short"], event["whole"], event["long"], words])
    dut.happens.value, dut.ends.value = 0, 1
    await ClockCycles(dut.clk, 3)
    report(reported)
