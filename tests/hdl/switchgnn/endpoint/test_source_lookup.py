"""Tests answers and requests, as the table of sources has them."""

import random
from dataclasses import replace

import cocotb
from amaranth.lib.wiring import connect, flipped

from hdl.common.component import Component
from hdl.switchgnn.endpoint.bundles import LOOKUP, SLOTS
from hdl.switchgnn.endpoint.memory_layouts import SourceRecord
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.source_lookup import SourceLookup
from hdl.switchgnn.endpoint.turn_contexts import TurnContexts
from hdl.switchgnn.protocol import Kind
from sim.harness.bench import Bench
from sim.harness.payloads import unpack
from sim.harness.streams import STALLS, Stalls, crossed
from tests.hdl.switchgnn.endpoint.answers import answer
from tests.simulated import simulated


class LookupBench(Component):
    """Wraps the lookup and the contexts that it asks for."""

    def __init__(self, params):
        lookup, stored = (part(params).signature.members for part in (SourceLookup, TurnContexts))
        super().__init__(
            params,
            {name: lookup[name] for name in ("lookups", "request", "beat", "jobs", "foreign")}
            | {name: stored[name] for name in ("write", "context", "slot")},
        )

    def build(self, m):
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


#: In these addresses every bit of a place counts.
SIZES = {name: replace(PRESETS[name], address_bits=64) for name in ("tiny", "full")}

test_source_lookup = simulated(LookupBench, SIZES, __name__)


class TableBench(Bench):
    """Has a context for each slot, and a table in which every record is another one."""

    def __init__(self, dut, stalls=Stalls.NONE):
        super().__init__(dut, stalls)
        self.contexts = [
            {name: random.getrandbits(field.width) for name, field in self.params.context}
            for _ in range(SLOTS)
        ]
        self.foreign, self.fails = self.record("foreign"), False
        self.requested, self.provided = [], []  # of memory: beats' numbers, what is to come of them
        self.expected, self.expected_foreign = [], 0
        answer(self, self.request, "beat", self.read)

    def read(self, _):
        return [{"failed": self.fails, "data": self.provided.pop(0)}]

    async def begin(self):
        await super().begin()
        for slot, context in enumerate(self.contexts):
            await self.strobe(write=1, slot=slot, context=context)
        return self

    def look_up(self, **fields):
        """Do some lookup; note what is read for it, and what becomes of it."""
        params, whole = self.params, 1 << self.params.beat_address_bits
        lookup = {name: random.getrandbits(field.width) for name, field in LOOKUP} | fields
        context, source = self.contexts[lookup["turn"] % SLOTS], lookup["source"]
        self.requested.append((8 * context["sources"] + source // 8) % whole)
        self.provided.append(random.getrandbits(512))
        record = unpack(SourceRecord, self.provided[-1] >> 64 * (source % 8) & (1 << 64) - 1)
        job = dict.fromkeys(params.job.members, 0) | {"turn": lookup["turn"], "source": source}
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

    def built(self):
        """Return the jobs that came, without a place for the payload where there is none."""
        return [
            job | ({"beat": None} if job["kind"] is Kind.RAWFETCH else {})
            for job in self.jobs.beats
        ]


@crossed(stalls=STALLS)
async def jobs_are_what_the_table_says(dut, stalls):
    bench = await TableBench(dut, stalls).begin()
    for _ in range(150):
        bench.look_up()
    await bench.jobs.wait_for(len(bench.expected))
    await bench.finish(30, request=bench.requested)
    assert bench.built() == bench.expected
    assert len(bench.foreign.cycles) == bench.expected_foreign


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_cannot_be_read_makes_no_job(dut):
    bench = await TableBench(dut).begin()
    bench.fails = True
    for requested in (0, 1):
        bench.look_up(answer=requested)
        await bench.wait(30)
    assert not bench.jobs.beats
    assert not bench.foreign.cycles
    bench.fails = False
    bench.expected.clear()
    bench.look_up(answer=0)
    await bench.jobs.wait_for(1)
    assert bench.built() == bench.expected
