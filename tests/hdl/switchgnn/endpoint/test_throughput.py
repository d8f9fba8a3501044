"""Measures that a frame leaves in as many cycles as it has beats, as long as nothing waits."""

from dataclasses import replace

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from hdl.switchgnn.endpoint.params import PRESETS
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.golden.worker_rule import Contribution, Share, WorkerSetup
from sim.switchgnn.network.cluster import RAMS
from sim.switchgnn.wire import SWITCH, Addresses, judge, own_address, to_octets
from tests.hdl.switchgnn.endpoint.bench import EPOCH, JOB, Bench, run_cluster

FRAMES = 200
TURNS = 2
SIZES = {
    "small": replace(PRESETS["small"], depth=8, copies=32),
    "full": replace(PRESETS["full"], address_bits=24, depth=4, copies=32),
}


@pytest.mark.parametrize("size", SIZES)
def test_throughput(size, tmp_path):
    run_cluster(__name__, tmp_path, SIZES[size], workers=1)


def setup(params, kind):
    """Return a job with this many frames in each turn, and nothing to get."""
    sends = [Contribution(kind, k % 16, 1 if kind is Kind.FEATURE else 0) for k in range(FRAMES)]
    payloads = np.arange(FRAMES)[:, None] + np.arange(params.lanes)
    return WorkerSetup(
        turns=TURNS,
        window=params.window,
        share=lambda _: Share(sends),
        payload=lambda turn, seq: payloads[seq] + turn,
    )


class Mirror(Bench):
    """Acknowledges every frame at once, and ends a turn when its DONE comes."""

    def __init__(self, dut, **options):
        super().__init__(dut, **options)
        self.faults.latency = 1
        self.arrived, self.frames = [0] * TURNS, []
        self.ecn = False

    def take(self, port, octets):
        frame = judge(octets, self.lanes, SWITCH)
        self.frames.append(frame)
        signed = {"bm": 1 << port, "job": JOB, "epoch": EPOCH}
        if frame.kind is Kind.DONE:
            if self.arrived[frame.turn] < FRAMES:
                return
            answer = Frame(kind=Kind.ADVANCE, turn=frame.turn + 1, **signed)
        else:
            self.arrived[frame.turn] = max(self.arrived[frame.turn], frame.seq + 1)
            seq = self.arrived[frame.turn]
            answer = Frame(kind=Kind.ACK, turn=frame.turn, seq=seq, ecn=self.ecn, **signed)
        addresses = Addresses(own_address(port), SWITCH)
        self.wires[port].send(to_octets(answer, self.lanes, addresses))

    async def all_have_left(self, provided):
        """All frames have left, as the list has them."""
        (worker,) = self.workers
        assert await worker.ends() == "FINISHED"
        sent = [frame for frame in self.frames if frame.kind is not Kind.DONE]
        assert [(frame.turn, frame.seq) for frame in sent] == [
            (turn, seq) for turn in range(TURNS) for seq in range(FRAMES)
        ]
        for frame in sent:
            assert frame.payload.tolist() == provided.payload(frame.turn, frame.seq).tolist()
            assert frame.list == provided.share(0).sends[frame.seq].list


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(kind=[Kind.FEATURE, Kind.PARTIAL], latency=[4, 60])
async def frames_leave_back_to_back(dut, kind, latency):
    """They do from a turn's first to its last while the window covers both reads and the link."""
    bench = Mirror(dut)
    await bench.begin()
    (worker,), (wire,) = bench.workers, bench.wires
    for name in RAMS:
        worker.memory.set(name, read_latency=latency)
    provided = setup(worker.params, kind)
    await worker.set_up(done=3000, send=100_000)
    await worker.load(provided)
    await worker.start(provided, job=JOB, epoch=EPOCH)
    await bench.all_have_left(provided)
    beats = 1 + worker.params.payload_beats(16 if kind is Kind.FEATURE else 32)
    covered = worker.params.window * beats > 2 * latency + 50
    for turn in range(TURNS):
        sent = [s for s in wire.sent if s[2][15] in (4, 5) and s[2][24] == turn]
        assert all(last - first + 1 == beats for first, last, _ in sent)
        cycles = sent[-1][1] + 1 - sent[0][0]
        if covered:
            other = sum(sent[0][0] < first < sent[-1][0] for first, _, _ in wire.sent) + 1
            assert cycles == FRAMES * beats + other - (FRAMES - 1)
    counters = await worker.counters()
    assert counters["sent_again"] == 0
    assert counters["turns"] == TURNS


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def rate_follows_congestion(dut):
    """From an eighth, an ACK with ECN halves the rate once in a round trip; then it grows."""
    bench = Mirror(dut)
    await bench.begin()
    (worker,), (wire,) = bench.workers, bench.wires
    provided = setup(worker.params, Kind.FEATURE)
    await worker.set_up(done=20_000, send=100_000)
    await worker.load(provided)
    rate = {"rate_control": 1, "rate_most": 1 << 13, "rate_least": 1 << 11, "rate_step": 1 << 8}
    await worker.write(round_trip=2000, burst=8, **rate)
    await worker.start(provided, job=JOB, epoch=EPOCH)
    while bench.arrived[0] < FRAMES // 2:
        await RisingEdge(dut.clk)
    assert await worker.read("rate") == 1 << 13
    beats = 1 + worker.params.feature_beats
    sent = [first for first, _, octets in wire.sent if octets[15] == 4]
    spent = (sent[-1] - sent[20]) * (1 << 13) >> 16
    assert abs(spent - (len(sent) - 21) * beats) <= beats + 8
    bench.ecn = True
    while bench.arrived[0] < FRAMES // 2 + 4:
        await RisingEdge(dut.clk)
    assert await worker.read("rate") == 1 << 12
    bench.ecn = False
    await bench.all_have_left(provided)
    assert await worker.counter("halvings") == 1
    assert await worker.counter("marks") >= 4
