"""Turns jobs into heads and payloads, as far as there is room for all that was asked for."""

import itertools
import random
from dataclasses import replace

from hdl.switchgnn.endpoint.bundles import UNDER_WAY
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.payload_reader import PayloadReader
from hdl.switchgnn.protocol import Kind
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed, never
from tests.hdl.switchgnn.endpoint.answers import answer
from tests.hdl.switchgnn.extremes import some_number
from tests.simulated import simulated

JOBS = 200
BEAT = 64  #: bytes
NARROW, WIDE = (Kind.FEATURE, Kind.RAW), (Kind.PARTIAL,)
CONTROL = (Kind.FETCH, Kind.RAWFETCH, Kind.DONE)
SIZES = {
    "a beat": PRESETS["tiny"],
    "1 or 2 beats": replace(PRESETS["tiny"], lanes=32, address_bits=34),
    "4 or 8 beats": replace(PRESETS["tiny"], lanes=128, prefetch_beats=64),
}

test_payload_reader = simulated(PayloadReader, SIZES, __name__)


class PayloadReaderBench(Bench):
    """Plays a memory that answers every burst; its beats never find the buffer full."""

    def __init__(self, dut, *, source=never, sink=never, held=None, latency=6):
        super().__init__(dut, (source, source))
        self.latency = latency
        held = held or (lambda stream: sink())
        self.heads.stall = lambda: held("heads")
        self.payload.stall = lambda: held("payload")
        self.provided = []  # beats of all bursts
        self.expected_heads, self.expected_bursts = [], []
        answer(self, self.bursts, "provided", self.read, latency=latency)

    def read(self, burst):
        """Draw the beats of a burst, for which there is room."""
        beats = [
            {"failed": random.getrandbits(1), "data": random.getrandbits(8 * BEAT)}
            for _ in range(burst["length"] + 1)
        ]
        self.provided += beats
        assert len(self.provided) - len(self.payload.beats) <= self.params.prefetch_beats
        return beats

    def size(self, kind):
        if kind in WIDE:
            return self.params.sum_beats
        return self.params.feature_beats if kind in NARROW else 0

    def give(self, kinds):
        kind = random.choice(kinds)
        job = {name: some_number(field.width) for name, field in self.params.job}
        job |= {"kind": kind}
        self.expected_heads.append({name: job[name] for name, _ in self.params.head})
        if size := self.size(kind):
            job["beat"] &= -size
            burst = {"address": BEAT * job["beat"], "length": size - 1}
            self.expected_bursts.append(burst)
        self.jobs.append(job)

    async def ends(self):
        await self.bursts.wait_for(len(self.expected_bursts))
        await self.finish(self.latency + 10, heads=self.expected_heads, payload=self.provided)
        result = [{name: b[name] for name in ("address", "length")} for b in self.bursts.beats]
        assert result == self.expected_bursts


@crossed(stalls=STALLS, kinds=[(*NARROW, *WIDE, *CONTROL), NARROW, WIDE, CONTROL])
async def payloads_are_those_of_jobs(dut, stalls, kinds):
    source, sink = stalls
    bench = await PayloadReaderBench(dut, source=source, sink=sink).begin()
    for _ in range(JOBS):
        bench.give(kinds)
    await bench.ends()
    if stalls.absent:
        beats = [bench.size(head["kind"]) for head in bench.expected_heads]
        covered = bench.latency + max(beats) + 8 < bench.params.prefetch_beats
        if not max(beats):
            assert {b - a for a, b in itertools.pairwise(bench.heads.cycles)} == {1}
        elif covered and min(beats):
            assert {b - a for a, b in itertools.pairwise(bench.payload.cycles)} == {1}


@crossed(name=["heads", "payload"])
async def jobs_wait_for_room(dut, name):
    """All of the buffer is used and no more, and all of the heads' queue."""
    taken = {"heads": True, "payload": True, name: False}
    bench = await PayloadReaderBench(dut, held=lambda stream: not taken[stream]).begin()
    params = bench.params
    for _ in range(UNDER_WAY + params.prefetch_beats):
        bench.give(NARROW if name == "payload" else CONTROL)
    await bench.wait(4 * (UNDER_WAY + params.prefetch_beats))
    if name == "payload":
        size, room = params.feature_beats, params.prefetch_beats - params.sum_beats
        assert len(bench.bursts.beats) == room // size + 1
        assert len(bench.heads.beats) == room // size + 1
    else:
        assert UNDER_WAY <= len(bench.jobs.cycles) <= UNDER_WAY + 2
    taken[name] = True
    await bench.ends()
