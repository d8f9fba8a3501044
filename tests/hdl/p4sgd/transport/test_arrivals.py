import random
from collections import Counter
from dataclasses import dataclass, replace

import cocotb

from hdl.p4sgd.transport.arrivals import Arrivals
from hdl.p4sgd.transport.params import TransportParams, Verdict
from sim.golden.reduction import allreduce as golden
from sim.golden.reduction.frames import Quality, WireFrame, judge
from sim.harness.axi_streams import AxiSource, beats_of
from sim.harness.records import Recorder
from sim.harness.streams import crossed, edges, never, often, started
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import put
from tests.simulated import simulated

SIZES = [TransportParams(slots=5), TransportParams(slots=4096, lanes=3)]
LEAST, MOST = -(1 << 31), (1 << 31) - 1  #: activations
QUALITIES = {
    Quality.CORRUPT: golden.Verdict.CORRUPT,
    Quality.FOREIGN: golden.Verdict.FOREIGN,
    Quality.MALFORMED: golden.Verdict.MALFORMED,
}

test_arrivals = simulated(Arrivals, SIZES, __name__)


@dataclass(frozen=True)
class Job:
    """What the host has set."""

    group: bytes
    worker: int
    workers: int
    job: int
    epoch: int
    base: int
    count: int

    @classmethod
    def any(cls, params):
        worker = random.randrange(32)
        count = random.choice([1, 2, params.slots, random.randint(1, params.slots)])
        base = random.choice([0, (1 << 16) - count, random.randint(0, (1 << 16) - count)])
        return cls(
            group=random.randbytes(6),
            worker=worker,
            workers=random.choice([1 << worker, random.getrandbits(32) | 1 << worker]),
            job=random.getrandbits(16),
            epoch=random.getrandbits(16),
            base=base,
            count=count,
        )

    @property
    def settings(self):
        return {
            "address": random.getrandbits(48),
            "switch_address": random.getrandbits(48),
            "group_address": int.from_bytes(self.group, "little"),
            "worker": self.worker,
            "workers": self.workers,
            "job": self.job,
            "epoch": self.epoch,
            "slot_base": self.base,
            "slot_count": self.count,
            "timeout": random.getrandbits(23),
            "retries": random.getrandbits(8),
            "peer_retries": random.getrandbits(24),
        }

    def good(self):
        """Return a packet that the table of slots has to judge."""
        is_agg, acked = random.choice([(True, False), (False, True), (True, True)])
        return WireFrame(
            destination=self.group,
            source=random.randbytes(6),
            is_agg=is_agg,
            acked=acked,
            bm=random.choice([1 << self.worker, self.workers]),
            job=self.job,
            epoch=self.epoch,
            seq=self.base + random.randrange(self.count),
            use=random.getrandbits(8),
            saturated=random.getrandbits(8) * (not acked),
            payload=tuple(
                random.choice([random.randint(LEAST, MOST), LEAST, MOST, 0]) for _ in range(8)
            ),
        )

    def verdict(self, wire, corrupt, is_open):
        """Return the last in the rule's list that applies; None for a packet of this job."""
        quality = judge(wire, corrupt, self.group)
        if quality is not Quality.GOOD:
            return QUALITIES[quality]
        frame = WireFrame.from_bytes(wire)
        applies = {
            golden.Verdict.MALFORMED: not (frame.is_agg or frame.acked)
            or (frame.saturated != 0 and frame.acked),
            golden.Verdict.WRONG_JOB: not is_open or frame.job != self.job,
            golden.Verdict.WRONG_WORKER: frame.bm not in (1 << self.worker, self.workers),
            golden.Verdict.WRONG_RUN: frame.epoch != self.epoch,
            golden.Verdict.WRONG_SLOT: not 0 <= frame.seq - self.base < self.count,
        }
        result = [verdict for verdict in golden.Verdict if applies.get(verdict)]
        return result[-1] if result else None


def wrong_fields(job, frame):
    """Return each field that matters, wrong by itself, and the golden verdict then."""
    other = 1 << (job.worker + 1) % 32
    below, above = (job.base - 1) % (1 << 16), (job.base + job.count) % (1 << 16)
    return {
        golden.Verdict.FOREIGN: [
            {"destination": random.randbytes(5) + bytes([~job.group[5] & 255])},
            {"ethertype": 0x0800},
            {"version": random.choice([0, 1, 3, 255])},
        ],
        golden.Verdict.MALFORMED: [
            {"no_flags": 1 << random.randrange(6)},
            {"is_agg": False, "acked": True, "saturated": 1 << random.randrange(8)},
            {"is_agg": False, "acked": False},
            {"is_agg": True, "acked": True, "saturated": 1 << random.randrange(8)},
        ],
        golden.Verdict.WRONG_JOB: [{"job": job.job ^ 1 << random.randrange(16)}],
        golden.Verdict.WRONG_WORKER: [
            {"bm": value}
            for value in (0, job.workers | other, job.workers & ~(1 << job.worker), other)
            if value not in (job.workers, 1 << job.worker)
        ],
        golden.Verdict.WRONG_RUN: [{"epoch": job.epoch ^ 1 << random.randrange(16)}],
        golden.Verdict.WRONG_SLOT: [
            {"seq": seq} for seq in (below, above) if not job.base <= seq < job.base + job.count
        ],
    }


class Bench:
    """Sends packets and compares every report with the golden judgement, each in its cycle."""

    def __init__(self, dut, stall=never):
        self.dut, dut.open.value = dut, 0
        self.source = AxiSource(dut, "s_axis", stall=stall)
        self.ready = Recorder(dut, "", {"s_axis_tready": None})
        shape = params_in_simulator(TransportParams).arrival
        self.reports = Recorder(dut, "valid", {"arrival": shape})
        self.coming = []  # beats
        self.expected = []  # of each packet: number of its last beat, its job, verdict and bytes
        self.is_open = 1

    async def begin(self, job, is_open=1):
        await self.idle(Arrivals.latency)
        self.job, self.is_open = job, is_open
        put(self.dut, settings=job.settings)
        self.dut.open.value = is_open

    async def idle(self, cycles=1):
        """Send what is to be sent, then nothing for some cycles."""
        await self.source.send_all(self.coming)
        self.coming = []
        await edges(self.dut.clk, cycles)

    def send(self, wire, corrupt=False, hole=None):
        """Send a packet in its turn; byte number ``hole`` of its only beat is not kept."""
        beats = [*beats_of(wire, corrupt=corrupt)]
        verdict = self.job.verdict(wire, corrupt, self.is_open)
        if hole is not None:
            beats[0]["tkeep"] ^= 1 << hole
            verdict = golden.Verdict.MALFORMED
        self.coming += beats
        last = len(self.source.cycles) + len(self.coming) - 1
        self.expected.append((last, self.job, verdict, wire))

    async def finish(self):
        """Compare all reports; return how many there were of each verdict."""
        await self.idle(3)
        assert all(cycle["s_axis_tready"] for cycle in self.ready.beats)
        moved = self.source.cycles
        ends = [moved[last] for last, *_ in self.expected]
        assert self.reports.cycles == [end + Arrivals.latency for end in ends]
        for report, (_, job, verdict, wire) in zip(self.reports.beats, self.expected, strict=True):
            compare(report["arrival"], job, verdict, wire)
        return Counter(verdict for *_, verdict, _ in self.expected)


def compare(arrival, job, verdict, wire):
    assert arrival["verdict"] is Verdict["NONE" if verdict is None else verdict.name], wire.hex()
    if verdict is None:
        frame = WireFrame.from_bytes(wire)
        lanes = len(arrival["activations"])
        assert arrival["slot"] == frame.seq - job.base
        result = [arrival[name] for name in ("is_agg", "acked", "use")]
        assert result == [frame.is_agg, frame.acked, frame.use]
        assert arrival["activations"] == list(frame.payload[:lanes])
        assert arrival["saturations"] == (frame.saturated % (1 << lanes)).bit_count()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_frame_with_a_hole_is_malformed(dut):
    bench = await started(Bench(dut))
    await bench.begin(Job.any(params_in_simulator(TransportParams)))
    good = bench.job.good().to_bytes()
    for byte in range(len(good)):
        bench.send(good, hole=byte)
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def judges_every_wrong_field(dut):
    """Each comes alone, and with every other that it goes before, a packet per cycle."""
    bench = await started(Bench(dut))
    for _ in range(20):
        await bench.begin(job := Job.any(params_in_simulator(TransportParams)))
        frame = job.good()
        assert job.verdict(frame.to_bytes(), False, True) is None
        bench.send(frame.to_bytes())
        wrong = wrong_fields(job, frame)
        for verdict, changes in wrong.items():
            for change in changes:
                worse = replace(frame, **change)
                assert job.verdict(worse.to_bytes(), False, True) is verdict
                bench.send(worse.to_bytes())
                bench.send(worse.to_bytes(), corrupt=True)
                for others in wrong.values():
                    for other in others:
                        bench.send(replace(worse, **other).to_bytes())
        bench.send(frame.to_bytes())
    seen = await bench.finish()
    assert all(seen[v] for v in (None, golden.Verdict.CORRUPT, *wrong)), seen


@crossed(stall=[never, often], ms=4)
async def judges_a_flood(dut, stall):
    """Packets are good, or have wrong fields, are cut or longer, with a job open or not."""
    bench = await started(Bench(dut, stall))
    for _ in range(60):
        job = Job.any(params_in_simulator(TransportParams))
        await bench.begin(job, is_open=random.random() < 0.9)
        for _ in range(40):
            frame = job.good()
            kinds = wrong_fields(job, frame)
            for kind in random.sample(list(kinds), k=random.choice([0, 0, 1, 1, 2, 3])):
                if kinds[kind]:
                    frame = replace(frame, **random.choice(kinds[kind]))
            wire = frame.to_bytes()
            if random.random() < 0.1:
                length = random.choice([1, 14, 15, 16, 59, 61, 64, 65, 128, random.randint(1, 200)])
                wire = (wire + random.randbytes(200))[:length]
            bench.send(wire, random.random() < 0.05)
    seen = await bench.finish()
    judged = [verdict for verdict in Verdict if verdict.value >= Verdict.WRONG_SLOT.value]
    expected = [None, *(golden.Verdict[verdict.name] for verdict in judged)]
    assert all(seen[verdict] > 20 for verdict in expected), seen
