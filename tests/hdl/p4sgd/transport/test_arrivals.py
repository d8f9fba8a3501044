import random
from dataclasses import dataclass, replace

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.transport.arrivals import Arrivals
from hdl.p4sgd.transport.params import TransportParams, Verdict
from sim.harness.payloads import unpack
from sim.harness.streams import never, often, start
from sim.harness.verilator import params_in_simulator
from sim.p4sgd.golden import allreduce as golden
from sim.p4sgd.golden.frames import Quality, WireFrame, judge
from tests.hdl.p4sgd.bench import put
from tests.simulated import simulated

SIZES = [TransportParams(slots=5), TransportParams(slots=4096, lanes=3)]
BEAT_BYTES = 64
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
        found = [verdict for verdict in golden.Verdict if applies.get(verdict)]
        return found[-1] if found else None


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
    """Drives packets and compares every report with the golden judgement, each cycle."""

    def __init__(self, dut):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.shape = params_in_simulator(TransportParams).arrival
        self.under_way = [None] * Arrivals.latency  # what was driven, the oldest first
        self.seen = dict.fromkeys([None, *golden.Verdict], 0)
        self.is_open = 1
        dut.s_axis_tvalid.value = 0

    async def begin(self, job, is_open=1):
        await self.idle(Arrivals.latency)
        self.job, self.is_open = job, is_open
        put(self.dut, settings=job.settings)
        self.dut.open.value = is_open

    async def step(self, driven=None):
        await self.edge
        dut = self.dut
        assert dut.s_axis_tready.value
        self.under_way.append(driven)
        due = self.under_way.pop(0)
        assert bool(dut.valid.value) == (due is not None)
        if due is not None:
            self.compare(*due)

    def compare(self, verdict, wire):
        arrival = unpack(self.shape, int(self.dut.arrival.value))
        name = "NONE" if verdict is None else verdict.name
        assert arrival["verdict"] is Verdict[name], wire.hex()
        self.seen[verdict] += 1
        if verdict is None:
            frame = WireFrame.from_bytes(wire)
            lanes = len(arrival["activations"])
            assert arrival["slot"] == frame.seq - self.job.base
            found = [arrival[name] for name in ("is_agg", "acked", "use")]
            assert found == [frame.is_agg, frame.acked, frame.use]
            assert arrival["activations"] == list(frame.payload[:lanes])
            assert arrival["saturated"] == frame.saturated % (1 << lanes)

    async def idle(self, cycles=1):
        dut = self.dut
        for _ in range(cycles):
            dut.s_axis_tvalid.value = 0
            dut.s_axis_tdata.value = random.getrandbits(512)
            dut.s_axis_tkeep.value = random.getrandbits(64)
            dut.s_axis_tlast.value = random.getrandbits(1)
            dut.s_axis_tuser.value = random.getrandbits(1)
            await self.step()

    async def lack(self, wire, byte):
        """Return a frame of one beat, of which a byte in the middle is not kept."""
        dut = self.dut
        dut.s_axis_tvalid.value = dut.s_axis_tlast.value = 1
        dut.s_axis_tuser.value = 0
        dut.s_axis_tdata.value = int.from_bytes(wire, "little")
        dut.s_axis_tkeep.value = ((1 << len(wire)) - 1) ^ 1 << byte
        await self.step((golden.Verdict.MALFORMED, wire))

    async def send(self, wire, corrupt=False, stall=never):
        dut = self.dut
        for at in range(0, len(wire), BEAT_BYTES):
            while stall():
                await self.idle()
            chunk, last = wire[at : at + BEAT_BYTES], at + BEAT_BYTES >= len(wire)
            filled = chunk + random.randbytes(BEAT_BYTES - len(chunk))
            dut.s_axis_tvalid.value = 1
            dut.s_axis_tdata.value = int.from_bytes(filled, "little")
            dut.s_axis_tkeep.value = (1 << len(chunk)) - 1
            dut.s_axis_tlast.value = last
            dut.s_axis_tuser.value = corrupt and last
            verdict = self.job.verdict(wire, corrupt, self.is_open)
            await self.step((verdict, wire) if last else None)


async def started(dut):
    bench = Bench(dut)
    dut.open.value = 0
    await start(dut)
    return bench


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_frame_with_a_hole_is_malformed(dut):
    bench = await started(dut)
    await bench.begin(Job.any(params_in_simulator(TransportParams)))
    good = bench.job.good().to_bytes()
    for byte in range(len(good)):
        await bench.lack(good, byte)
    await bench.idle(Arrivals.latency)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def judges_every_wrong_field(dut):
    """Each comes alone, and with every other that it goes before, a packet per cycle."""
    bench = await started(dut)
    for _ in range(20):
        await bench.begin(job := Job.any(params_in_simulator(TransportParams)))
        frame = job.good()
        assert job.verdict(frame.to_bytes(), False, True) is None
        await bench.send(frame.to_bytes())
        wrong = wrong_fields(job, frame)
        for verdict, changes in wrong.items():
            for change in changes:
                worse = replace(frame, **change)
                assert job.verdict(worse.to_bytes(), False, True) is verdict
                await bench.send(worse.to_bytes())
                await bench.send(worse.to_bytes(), corrupt=True)
                for others in wrong.values():
                    for other in others:
                        await bench.send(replace(worse, **other).to_bytes())
        await bench.send(frame.to_bytes())
    await bench.idle(3)
    assert all(bench.seen[v] for v in (None, golden.Verdict.CORRUPT, *wrong)), bench.seen


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(stall=[never, often])
async def judges_a_flood(dut, stall):
    """Packets are good, or have wrong fields, are cut or longer, with a job open or not."""
    bench = await started(dut)
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
            await bench.send(wire, random.random() < 0.05, stall)
    await bench.idle(3)
    judged = [verdict for verdict in Verdict if verdict.value >= Verdict.WRONG_SLOT.value]
    wanted = [None, *(golden.Verdict[verdict.name] for verdict in judged)]
    assert all(bench.seen[verdict] > 20 for verdict in wanted), bench.seen


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_report_follows_its_packet(dut):
    """It lasts a cycle, as late as stated; nothing is ours while no job is open."""
    bench = await started(dut)
    job = Job.any(params_in_simulator(TransportParams))
    for is_open in (0, 1):
        await bench.begin(job, is_open)
        for gap in (0, 1, 5):
            await bench.send(job.good().to_bytes())
            await bench.idle(gap)
    await bench.idle(3)
    assert bench.seen[golden.Verdict.WRONG_JOB] == bench.seen[None] == 3
