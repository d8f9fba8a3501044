"""Writes frames from heads and payloads, and checks every beat and when it may leave."""

import itertools
import random
from dataclasses import replace

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.endpoint.frame_writer import SIGNATURE, FrameWriter
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.protocol import CONTROL_BYTES, ETHERTYPE_ON_WIRE, VERSION, Head, Kind
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, Stalls, crossed
from tests.hdl.switchgnn.extremes import some_number
from tests.simulated import simulated

FRAMES = 200
#: What leaves a worker, with the bits of a lane.
LANES = {
    Kind.FEATURE: 16,
    Kind.RAW: 16,
    Kind.PARTIAL: 32,
    Kind.FETCH: 0,
    Kind.RAWFETCH: 0,
    Kind.DONE: 0,
}


SIZES = [replace(PRESETS["tiny"], lanes=lanes) for lanes in (2, 32, 128)]

test_frame_writer = simulated(
    FrameWriter, SIZES, __name__, each=True, ids=lambda params: str(params.lanes)
)


class WriterBench(Bench):
    """Gives frames in the order of their heads, and checks what is told while they leave."""

    def __init__(self, dut, stalls=Stalls.NONE):
        super().__init__(dut, stalls, may_begin=1)
        self.signature = {
            name: random.getrandbits(SIGNATURE[name].width) for name in SIGNATURE.members
        }
        self.set(signature_of_job=self.signature)
        self.expected, self.frames = [], []  # beats; kind and again, in order
        self.leaving = self.reports("leaving")
        self.begun = self.left = self.coming = 0  # frames, frames, beats of the payload

    def size(self, kind):
        return -(-self.params.lanes * LANES[kind] // 8 // BEAT_BYTES)

    def give(self, kind, fails=0.2):
        """Give a frame with any content."""
        job = {name: some_number(field.width) for name, field in self.params.head}
        job |= {"kind": kind}
        head = {
            "destination": self.signature["switch_address"],
            "source": self.signature["address"],
            "ethertype": ETHERTYPE_ON_WIRE,
            "version": VERSION,
            "kind": kind,
            "bm": self.signature["worker"],
            **{name: self.signature[name] for name in ("job", "epoch")},
            **{name: job[name] for name in ("turn", "seq")},
            "about": {"target": {name: job[name] for name in ("list", "source", "raw", "rows")}},
        }
        size, mask = self.size(kind), (1 << self.params.lanes * LANES[kind]) - 1
        payload = [{"data": random.getrandbits(512), "failed": 0} for _ in range(size)]
        if payload and random.random() < fails:
            random.choice(payload)["failed"] = 1
        failed = any(beat["failed"] for beat in payload)
        keeps = [CONTROL_BYTES if not size else BEAT_BYTES, *[BEAT_BYTES] * size]
        data = [pack(Head, head), *(beat["data"] & mask for beat in payload)]
        for k, (content, keep) in enumerate(zip(data, keeps, strict=True)):
            last = k == size
            end = {"tlast": int(last), "tuser": int(last and failed)}
            self.expected.append({"tdata": content, "tkeep": (1 << keep) - 1} | end)
        self.frames.append({"valid": 1, "kind": kind, "again": job["again"]})
        self.heads.append(job)
        self.payload.extend(payload)

    async def step(self):
        """Play a cycle, and check what is said in it; return whether a frame begins."""
        dut = self.dut
        await self.edge
        heads, payload = bool(dut.heads_valid.value), bool(dut.payload_valid.value)
        assert dut.inside.value == (self.begun > self.left)
        size = self.size(self.frames[self.begun]["kind"]) if heads else 0
        assert dut.waits.value == (size > 0 and not self.coming and not payload)
        begins = heads and bool(dut.heads_ready.value)
        continues = payload and bool(dut.payload_ready.value)
        assert dut.beat.value == (begins or continues)
        ends = (begins and not size) or (continues and self.coming == 1)
        assert int(dut.leaving.value) & 1 == ends
        if begins:
            assert dut.may_begin.value
            assert not dut.stop.value
            assert not self.coming
            assert payload or not size
            self.begun, self.coming = self.begun + 1, size
        self.coming -= continues
        self.left += int(dut.axis_tvalid.value & dut.axis_tready.value & dut.axis_tlast.value)
        return begins


@crossed(stalls=STALLS, held=[False, True])
async def frames_are_as_their_heads_say(dut, stalls, held):
    """Frames leave in order and whole, a beat per cycle while nothing holds them up."""
    bench = await WriterBench(dut, stalls).begin()
    for _ in range(FRAMES):
        bench.give(random.choice(list(LANES)))
    while len(bench.axis.beats) < len(bench.expected):
        if held:
            dut.may_begin.value = random.random() < 0.7
            dut.stop.value = random.random() < 0.1
        await bench.step()
    await bench.finish(axis=bench.expected)
    assert [frame for frame, _ in bench.leaving.result] == bench.frames
    if stalls.absent and not held:
        assert {b - a for a, b in itertools.pairwise(bench.axis.cycles)} == {1}


@crossed(name=["may_begin", "stop"], us=100)
async def none_begins_while_it_may_not(dut, name):
    """A frame that has begun leaves, whatever its kind; no other begins."""
    bench = await WriterBench(dut).begin()
    for kind in LANES:
        getattr(dut, name).value = name == "may_begin"
        bench.give(kind)
        bench.give(kind)
        while not await bench.step():
            pass
        getattr(dut, name).value = name == "stop"
        for _ in range(20):
            assert not await bench.step()
        assert bench.left == bench.begun
        getattr(dut, name).value = name == "may_begin"
        for _ in range(20):
            await bench.step()
    assert bench.axis.beats == bench.expected
