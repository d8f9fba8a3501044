"""Checks what is said of frames, whole and broken, before anything is done with them."""

import random
from dataclasses import replace

import numpy as np

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.endpoint.arrivals import OWN, Arrivals
from hdl.switchgnn.endpoint.bundles import Verdict
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.protocol import CONTROL_BYTES
from sim.harness.axi_streams import beats_of
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed
from sim.switchgnn.golden.frames import Frame, Kind, Quality
from sim.switchgnn.wire import Addresses, judge, to_octets
from tests.simulated import simulated

ADDRESS = bytes.fromhex("02aabbccdd01")
FRAMES = 150
LANE_BITS = {Kind.FEATURE: 16, Kind.RAW: 16, Kind.PARTIAL: 32, Kind.RESULT: 32}
KIND, FIELDS = 15, 50  #: bytes of a head
WORD = ("data", "keep", "last")  #: of a packet
SIZES = [replace(PRESETS["tiny"], lanes=lanes) for lanes in (2, 32, 128)]

test_arrivals = simulated(Arrivals, SIZES, __name__, ids=lambda params: str(params.lanes))


def one_bit(octets, at):
    """Return the octets with one bit of a byte changed."""
    return octets[:at] + bytes([octets[at] ^ 1 << random.randrange(8)]) + octets[at + 1 :]


def near(value, bits):
    """Return the number, mostly, or one that differs from it in a bit."""
    return random.choice([value, value, value, value ^ 1 << random.randrange(bits)])


class ArrivalsBench(Bench):
    """Sends frames of a worker, its job and its turns, and others that are nearly so."""

    def begin_run(self):
        self.own = {name: random.getrandbits(field.width) for name, field in OWN}
        self.set(own=self.own)

    def frame(self):
        """Draw a frame of any kind."""
        own, params, kind = self.own, self.params, random.choice(list(Kind))
        turn = random.choice([own["lo"], own["next"], own["sending"]])
        frame = Frame(
            kind=kind,
            turn=near(turn, 32),
            bm=near(own["worker"], 32),
            job=near(own["job"], 16),
            epoch=near(own["epoch"], 16),
            seq=random.getrandbits(32),
            ecn=bool(random.getrandbits(1)),
        )
        if kind is Kind.ACK:
            return replace(frame, bitmap=random.getrandbits(128))
        item = near(random.randrange(params.aggregators), 32)
        source = near(random.randrange(params.copies), 32)
        frame = replace(frame, list=item, source=source, raw=random.getrandbits(32))
        frame = replace(frame, rows=random.getrandbits(16))
        if kind not in LANE_BITS:
            return frame
        half = 1 << LANE_BITS[kind] - 1
        return replace(
            frame,
            payload=np.random.default_rng(random.getrandbits(32)).integers(
                -half, half, params.lanes
            ),
        )

    def octets(self):
        """Return a frame's bytes, or such as are wrong in a way that the filter lets pass."""
        params, frame = self.params, self.frame()
        octets = to_octets(frame, params.lanes, Addresses(ADDRESS, random.randbytes(6)))
        path = random.randrange(10)
        if path == 0:  # another kind, or none
            octets = one_bit(octets, KIND)
        elif path == 1:  # a bit behind the fields, of which some have no meaning
            octets = one_bit(octets, random.randrange(FIELDS - 2, min(len(octets), BEAT_BYTES)))
        elif path == 2 and len(octets) > BEAT_BYTES:
            octets = one_bit(octets, random.randrange(BEAT_BYTES, len(octets)))
        elif path == 3 and len(octets) > CONTROL_BYTES:  # shorter by bytes, or beats
            fewer = random.choice([1, 4, BEAT_BYTES, random.randrange(len(octets))])
            octets = octets[: max(CONTROL_BYTES, len(octets) - fewer)]
        elif path == 4:
            more = random.choice([1, 4, 5, BEAT_BYTES])
            octets = (octets + bytes(more))[: params.frames.max_bytes]
        elif path == 5 and len(octets) > BEAT_BYTES:  # another kind of lane
            octets = octets[:KIND] + bytes([random.randrange(4, 13)]) + octets[KIND + 1 :]
        return octets

    def expected(self, octets):
        """Return what is said with a frame's first beat, and whether it is malformed."""
        params, own = self.params, self.own
        number = {
            name: int.from_bytes(octets[at : at + size], "little")
            for name, at, size in (
                ("bm", 16, 4),
                ("job", 20, 2),
                ("epoch", 22, 2),
                ("turn", 24, 4),
                ("list", 34, 4),
                ("source", 38, 4),
            )
        }
        stranger = Verdict.NONE
        if number["epoch"] != own["epoch"]:
            stranger = Verdict.WRONG_RUN
        if number["bm"] != own["worker"]:
            stranger = Verdict.WRONG_WORKER
        if number["job"] != own["job"]:
            stranger = Verdict.WRONG_JOB
        said = {
            "stranger": stranger,
            "is_lo": number["turn"] == own["lo"],
            "is_next": number["turn"] == own["next"],
            "is_sending": number["turn"] == own["sending"],
            "in_sums": number["list"] < params.aggregators,
            "in_copies": number["source"] < params.copies,
        }
        return said, judge(octets, params.lanes, ADDRESS) is Quality.MALFORMED


@crossed(stalls=STALLS)
async def every_frame_is_judged(dut, stalls):
    bench, broken = await ArrivalsBench(dut, stalls).begin(), 0
    for _ in range(3):
        bench.begin_run()
        bench.beats.beats.clear()
        frames, words = [bench.octets() for _ in range(FRAMES)], []
        for octets in frames:
            words += [{name: beat[f"t{name}"] for name in WORD} for beat in beats_of(octets)]
        bench.packets.extend(words)
        await bench.beats.wait_for(len(words))
        beats = iter(bench.beats.beats)
        for octets in frames:
            said, malformed = bench.expected(octets)
            size = -(-len(octets) // BEAT_BYTES)
            for k in range(size):
                beat = next(beats)
                assert beat["first"] == (k == 0)
                assert beat["last"] == (k == size - 1)
                if k == 0:
                    assert {name: beat[name] for name in said} == said
            assert beat["malformed"] == malformed
            broken += malformed
        assert [beat["data"] for beat in bench.beats.beats] == [word["data"] for word in words]
        if stalls.absent:
            sent = bench.packets.cycles[-len(words) :]
            assert sent == list(range(sent[0], sent[0] + len(words)))
            assert bench.beats.cycles[-len(words) :] == [at + Arrivals.latency for at in sent]
    assert FRAMES // 5 < broken < FRAMES * 2
