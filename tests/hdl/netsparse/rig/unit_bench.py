"""Host memory, network and idx filter of a RIG unit, as models that agree on one matrix."""

import random
from collections import deque

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.protocol import BEAT_BYTES
from hdl.netsparse.rig.params import READ_BEAT, Cause, RigParams
from hdl.netsparse.rig.unit import UNIT_EVENTS
from sim.payloads import pack
from sim.streams import Sink, Source, cycle, never, often, start
from sim.verilator import params_in_simulator
from tests.hdl.netsparse.rig.bench import FilterModel, Totals, conserved, dense_beats

UNIT, NODE = 7, 1
COLUMNS = 600
BOUNDARIES = (0, 150, 350)  # of three nodes
IDX_BASE = 0x10000  # where arrays of idxs lie in host memory
LOCAL = (BOUNDARIES[NODE], BOUNDARIES[NODE + 1])


def quickly(*_):
    """An access that takes a few cycles."""
    return random.randint(1, 6)


def slowly(*_):
    """An access that now and then takes very long."""
    return random.choice((2, 20, 60, 150))


class UnitBench:
    """A unit in client mode among its models; what they do can be changed while it runs."""

    def __init__(self, dut, *, source=never, sink=never, filter_latency=quickly, trip=quickly):
        self.dut, self.trip = dut, trip
        self.params = params_in_simulator(RigParams)
        self.idx_read_fails = self.write_fails = lambda address: False
        self.respond = lambda pr: [{}]  # what becomes of a PR: changes to each of its responses
        self.host_stall = source
        self.write_latency = quickly
        self.completions = Sink(dut, "completions", stall=sink)
        self.commands = Source(dut, "commands")
        self.asks = Sink(dut, "asks", stall=sink)
        self.writes = Sink(dut, "writes", stall=sink, callback=self.write)
        self.prs = Sink(dut, "prs", stall=sink, callback=self.ask_network)
        self.responses = Source(dut, "responses", stall=source)
        self.filter = FilterModel(dut, self.params, filter_latency)
        self.filter.stall = sink
        self.totals = Totals(dut, UNIT_EVENTS)
        self.memory = bytearray(random.randbytes(IDX_BASE + (1 << 16)))
        self.written, self.outcomes = [], deque()
        self.property_bytes, self.tag = 4, 0
        self.owned = {}  # idx -> its property at its owner
        for name in ("serve", "beat_valid", "beat", "done", "write_failed", "boundary", "served"):
            getattr(dut, name).value = 0
        for name in ("reads_valid", "answers_ready"):
            getattr(dut, name).value = 0
        dut.unit.value, dut.coalesce.value, dut.filter.value = UNIT, 1, 1
        first, end = LOCAL
        partition = {"node": NODE, "first": first, "end": end, "columns": COLUMNS}
        dut.partition.value = pack(self.params.partition, partition)
        cocotb.start_soon(self.read())
        cocotb.start_soon(self.finish_writes())

    async def begin(self):
        await start(self.dut)
        for node, boundary in enumerate(BOUNDARIES):
            self.dut.boundary.value = pack(
                self.params_boundary, {"valid": 1, "node": node, "boundary": boundary}
            )
            await RisingEdge(self.dut.clk)
        self.dut.boundary.value = 0
        return self

    @property
    def params_boundary(self):
        from hdl.netsparse.rig.client import Client

        return Client(self.params).solver_params.write
