"""Surrounds read masters with a memory, a judge of bursts, and expected beats."""

import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hdl.common.axi import FOUR_KB, Burst, Response
from sim.harness.axi_streams import ChannelMonitor
from sim.harness.streams import never


class Memory:
    """Holds bytes at a bench's AXI read port; ``bad`` addresses answer with an error, and zeros."""

    def __init__(self, bench, size, *, stall=never, bad=()):
        rng = np.random.default_rng(random.getrandbits(64))
        self.bytes, self.bad = rng.integers(256, size=size, dtype=np.uint8), set(bad)
        self.r = bench.axi_r
        self.r.stall = bench.axi_ar.stall = stall
        bench.axi_ar.add_callback(self.answer)

    def answer(self, burst):
        step, count = 1 << burst["size"], burst["len"] + 1
        for k, at in enumerate(range(burst["addr"], burst["addr"] + step * count, step), 1):
            data = int.from_bytes(self.bytes[at : at + step].tobytes(), "little")
            beat = {"data": data, "resp": 0, "last": k == count}
            if at in self.bad:
                beat |= {"data": 0, "resp": Response.SLVERR.value}
            self.r.append(beat)

    def beats(self, indices, beat_bytes) -> list[int]:
        """Return the beats at ``indices``, as numbers."""
        words = self.bytes.reshape(-1, beat_bytes)
        return [int.from_bytes(words[index].tobytes(), "little") for index in indices]


class Requested(NamedTuple):
    """A burst: its beats, and the cycle in which it was first offered."""

    beat: int
    beats: int
    offered: int


class BurstJudge:
    """Checks every AR against the rules of AXI and the windows."""

    def __init__(self, bench):
        self.params, self.ar = bench.params, ChannelMonitor(bench.dut, "axi_ar")
        self.offered, self.ready = bench.record("axi_arvalid"), bench.record("axi_rready")
        self.each = bench.record("")

    def judged(self) -> list[Requested]:
        """Return the bursts that were taken, all of which are right."""
        assert self.ready.cycles == self.each.cycles, "R is never held up"
        offered = self.offered.cycles
        firsts = np.searchsorted(offered, [0, *self.ar.cycles][:-1], "right")
        bursts = zip(self.ar.beats, firsts, strict=True)
        return [self._judge(**burst, offered=offered[first]) for burst, first in bursts]

    def _judge(self, addr, len, size, burst, offered, **_):
        beat_bytes = self.params.beat_bytes
        beats = len + 1
        assert burst == Burst.INCR.value
        assert 1 << size == beat_bytes
        assert addr % beat_bytes == 0
        assert beats <= self.params.burst_beats
        assert addr // FOUR_KB == (addr + beats * beat_bytes - 1) // FOUR_KB
        first, last = addr // beat_bytes, addr // beat_bytes + len
        assert first // self.params.burst_beats == last // self.params.burst_beats
        return Requested(first, beats, offered)

    @property
    def requested(self) -> list[int]:
        """Return all beats that were asked for, in order."""
        return [burst.beat + k for burst in self.judged() for k in range(burst.beats)]


def beats_of(plan: dict, beat_bytes: int) -> Iterator[int]:
    """Return the beats that ``plan`` asks for, as its definition says."""
    for _ in range(plan["epochs"]):
        for run in range(plan["runs"]):
            start = plan["address"] // beat_bytes + run * plan["stride"]
            yield from range(start, start + plan["beats"])


def make_plan(beat_bytes, first, beats, stride=0, runs=1, epochs=1) -> dict:
    """Return a plan that begins at beat ``first``."""
    return {
        "address": first * beat_bytes,
        "beats": beats,
        "stride": stride,
        "runs": runs,
        "epochs": epochs,
    }


def random_address(params):
    """Draw any address, half of the time shortly before a multiple of a power of two."""
    reach = 1 << random.randrange(params.offset_bits, params.address_bits)
    address = random.getrandbits(params.address_bits)
    if random.getrandbits(1):
        return address
    return (address // reach * reach - random.randrange(20) * params.data_bits // 8) % (
        1 << params.address_bits
    )


def random_burst(params):
    identifier = {"id": random.getrandbits(params.id_bits)} if params.id_bits else {}
    return identifier | {
        "addr": random_address(params),
        "len": random.choice([0, 0, 1, 2, 15, 255, random.randrange(256)]),
        "size": random.choice([params.offset_bits] * 4 + [*range(8)]),
        "burst": random.choice([Burst.INCR] * 3 + [Burst.FIXED, Burst.WRAP]),
    }


def expected_beats(params, burst):
    """Return one beat after the other from the address, with the last one marked."""
    plain = burst["burst"] == Burst.INCR and burst["size"] == params.offset_bits
    mask = (1 << params.index_bits) - 1
    return [
        {name: burst[name] for name in params.identifier}
        | {
            "index": (burst["addr"] >> params.offset_bits) + k & mask,
            "last": int(k == burst["len"]),
            "plain": int(plain),
        }
        for k in range(burst["len"] + 1)
    ]
