"""Tests answers and requests, as the table of sources has them."""

import random
from dataclasses import replace

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect, flipped

from hdl.common.component import Component
from hdl.switchgnn.endpoint.bundles import LOOKUP, SLOTS, TABLE_BEAT
from hdl.switchgnn.endpoint.memory_layouts import SourceRecord
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.source_lookup import SourceLookup
from hdl.switchgnn.endpoint.turn_contexts import TurnContexts
from hdl.switchgnn.protocol import Kind
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack
from sim.harness.streams import STALLS
from sim.harness.verilator import simulate


class LookupBench(Component):
    """Wraps the lookup and the contexts that it asks for."""

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
    """In these addresses every bit of a place counts."""
    simulate(LookupBench(replace(PRESETS[preset], address_bits=64)), __name__)


class TableBench(Bench):
    """Has a context for each slot, and a table in which every record is another one."""

    def __init__(self, dut, source, sink):
        super().__init__(dut, (source, sink))
        self.contexts = [
            {name: random.getrandbits(field.width) for name, field in self.params.context}
            for _ in range(SLOTS)
        ]
        self.foreign, self.fails = 0, False
        self.asked, self.given = [], []  # of memory: beats' numbers, what they hold
        self.expected, self.expected_foreign = [], 0
        cocotb.start_soon(self.serve())

    async def serve(self):
        dut, seen, waits = self.dut, 0, 0
        while True:
            await self.edge
            self.foreign += int(dut.foreign.value)
            given = {"valid": 0, "failed": random.getrandbits(1), "data": random.getrandbits(512)}
            if len(self.request.beats) > seen:
                waits += 1
                if waits > 5:
                    given = {"valid": 1, "failed": self.fails, "data": self.given[seen]}
                    seen, waits = seen + 1, 0
            dut.beat.value = pack(TABLE_BEAT, given)

    async def write_contexts(self):
        for slot, context in enumerate(self.contexts):
            self.dut.slot.value, self.dut.write.value = slot, 1
            self.dut.context.value = pack(self.params.context, context)
            await self.edge
        self.dut.write.value = 0

    def look_up(self, **fields):
        """Do some lookup; note what is read for it, and what becomes of it."""
        params, whole = self.params, 1 << self.params.beat_address_bits
        lookup = {name: random.getrandbits(field.width) for name, field in LOOKUP} | fields
        context, source = self.contexts[lookup["turn"] % SLOTS], lookup["source"]
        self.asked.append((8 * context["sources"] + source // 8) % whole)
        self.given.append(random.getrandbits(512))
        record = unpack(SourceRecord, self.given[-1] >> 64 * (source % 8) & (1 << 64) - 1)
        job = {name: 0 for name, _ in params.job} | {"turn": lookup["turn"], "source": source}
        if not lookup["answer"]:
            job |= {"kind": Kind.RAWFETCH, "raw": 1 << record["port"], "beat": None}
            self.expected.append(job)
        elif record["own"]:
            beat = 8 * context["features"] + record["place"] * params.feature_beats
            job |= {"kind": Kind.RAW, "raw": lookup["raw"], "beat": beat % whole}
            self.expected.append(job)
        else:
            self.expected_foreign += 1
        self.lookups.append(lookup)

    def made(self):
        """Return the jobs that came, without a place for the payload where there is none."""
        return [
            job | ({"beat": None} if job["kind"] is Kind.RAWFETCH else {})
            for job in self.jobs.beats
        ]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def jobs_are_what_the_table_says(dut, stalls):
    bench = await TableBench(dut, *stalls).begin()
    await bench.write_contexts()
    for _ in range(150):
        bench.look_up()
    await bench.request.wait_for(150)
    await bench.jobs.wait_for(len(bench.expected))
    for _ in range(30):
        await bench.edge
    assert bench.request.beats == bench.asked
    assert bench.made() == bench.expected
    assert bench.foreign == bench.expected_foreign


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_cannot_be_read_makes_no_job(dut):
    bench = await TableBench(dut, lambda: False, lambda: False).begin()
    await bench.write_contexts()
    bench.fails = True
    for answer in (0, 1):
        bench.look_up(answer=answer)
        for _ in range(30):
            await bench.edge
    assert not bench.jobs.beats
    assert not bench.foreign
    bench.fails = False
    bench.expected.clear()
    bench.look_up(answer=0)
    await bench.jobs.wait_for(1)
    assert bench.made() == bench.expected
