"""Answers and requests, by what the table of sources says."""

import random

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect, flipped
from cocotb.triggers import RisingEdge

from hdl.common.component import Component
from hdl.switchgnn.endpoint.bundles import SLOTS, TABLE_BEAT
from hdl.switchgnn.endpoint.memory_layouts import SourceRecord
from hdl.switchgnn.endpoint.params import PRESETS, EndpointParams
from hdl.switchgnn.endpoint.source_lookup import SourceLookup
from hdl.switchgnn.endpoint.turn_contexts import TurnContexts
from hdl.switchgnn.protocol import Kind
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, Sink, Source, start
from sim.harness.verilator import params_in_simulator, simulate


class LookupBench(Component):
    """The lookup, with the contexts that it asks for."""

    def __init__(self, params):
        lookup, kept = (
            SourceLookup(params).signature.members,
            TurnContexts(params).signature.members,
        )
        super().__init__(
            params,
            {name: lookup[name] for name in ("lookups", "request", "beat", "jobs", "foreign")}
            | {name: kept[name] for name in ("write", "context")}
            | {"slot": kept["slot"]},
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.lookup = lookup = SourceLookup(self.params)
        m.submodules.contexts = contexts = TurnContexts(self.params)
        connect(m, flipped(self.lookups), lookup.lookups)
        connect(m, lookup.request, flipped(self.request))
        connect(m, lookup.jobs, flipped(self.jobs))
        m.d.comb += [
            lookup.beat.eq(self.beat),
            self.foreign.eq(lookup.foreign),
            contexts.slots[2].eq(lookup.slot),
            lookup.context.eq(contexts.contexts[2]),
        ]
        for name in ("write", "slot", "context"):
            m.d.comb += getattr(contexts, name).eq(getattr(self, name))
        return m


@pytest.mark.parametrize("preset", ["tiny", "full"])
def test_source_lookup(preset):
    simulate(LookupBench(PRESETS[preset]), __name__)


class Bench:
    """A table for each slot, at another place in memory."""

    def __init__(self, dut, source, sink):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(EndpointParams)
        self.lookups = Source(dut, "lookups", stall=source)
        self.request, self.jobs = Sink(dut, "request", stall=sink), Sink(dut, "jobs", stall=sink)
        self.tables = [[self.record() for _ in range(64)] for _ in range(SLOTS)]
        self.foreign, self.fails = 0, False
        dut.beat.value = dut.write.value = 0
        cocotb.start_soon(self.serve())

    def record(self):
        if random.random() < 0.5:
            return {"own": 1, "place": random.randrange(100)}
        return {"own": 0, "port": random.randrange(32), "place": random.getrandbits(32)}

    async def serve(self):
        dut, seen, waits = self.dut, 0, 0
        while True:
            await self.edge
            self.foreign += int(dut.foreign.value)
            dut.beat.value = 0
            if len(self.request.beats) > seen:
                waits += 1
                if waits > 5:
                    slot, beat = divmod(self.request.beats[seen], 16)
                    records = self.tables[slot // 8 - 1][8 * beat : 8 * beat + 8]
                    bits = sum(pack(SourceRecord, one) << 64 * k for k, one in enumerate(records))
                    given = {"valid": 1, "failed": self.fails, "data": bits}
                    dut.beat.value = pack(TABLE_BEAT, given)
                    seen, waits = seen + 1, 0

    async def write_contexts(self):
        for slot in range(SLOTS):
            self.dut.slot.value, self.dut.write.value = slot, 1
            self.dut.context.value = pack(self.params.context, self.context(slot))
            await self.edge
        self.dut.write.value = 0

    def context(self, slot):
        """Tables lie 128 beats apart, features as many."""
        return {"sources": 16 * (slot + 1), "features": 32 * (slot + 1)}


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def jobs_are_what_the_table_says(dut, stalls):
    bench = Bench(dut, *stalls)
    await start(dut)
    await bench.write_contexts()
    expected, foreign, lookups = [], 0, []
    for _ in range(60):
        turn, source = random.getrandbits(32), random.randrange(64)
        lookup = {"answer": random.getrandbits(1), "turn": turn, "source": source}
        lookups.append(lookup | {"raw": random.getrandbits(32)})
        slot = turn % SLOTS
        record = bench.tables[slot][source]
        job = {"turn": turn, "source": source}
        if not lookup["answer"]:
            expected.append(job | {"kind": Kind.RAWFETCH, "raw": 1 << record.get("port", 0)})
        elif record["own"]:
            beat = 8 * bench.context(slot)["features"]
            beat += record["place"] * bench.params.feature_beats
            answer = {"kind": Kind.RAW, "raw": lookups[-1]["raw"], "beat": beat}
            expected.append(job | answer)
        else:
            foreign += 1
    await bench.lookups.send_all(lookups)
    await bench.jobs.wait_for(len(expected))
    for _ in range(30):
        await bench.edge
    assert bench.foreign == foreign
    for job, right in zip(bench.jobs.beats, expected, strict=True):
        for name, value in right.items():
            assert job[name] == value, name
        assert (job["seq"], job["list"], job["rows"], job["again"]) == (0, 0, 0, 0)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_cannot_be_read_makes_no_job(dut):
    bench = Bench(dut, lambda: False, lambda: False)
    await start(dut)
    await bench.write_contexts()
    bench.fails = True
    for answer in (0, 1):
        await bench.lookups.send_all([{"answer": answer, "source": 3}])
        for _ in range(30):
            await bench.edge
    assert not bench.jobs.beats
    assert not bench.foreign
    bench.fails = False
    await bench.lookups.send_all([{"answer": 0, "source": 3}])
    await bench.jobs.wait_for(1)
