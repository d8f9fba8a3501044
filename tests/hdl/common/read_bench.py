"""Surrounds read masters with memories of cocotbext-axi, a judge of bursts, and expected beats."""

from collections.abc import Iterator
from typing import NamedTuple

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiReadBus, AxiSlaveRead

from hdl.common.axi import FOUR_KB, Burst
from hdl.common.read_plan import ReadMasterParams
from sim.harness.streams import cycle, never


class Memory:
    """Holds bytes at an AXI read port; ``bad`` addresses answer with an error."""

    def __init__(self, dut, prefix, size, *, seed, stall=never, bad=()):
        self.bytes = np.random.default_rng(seed).integers(256, size=size, dtype=np.uint8)
        self.bad = set(bad)
        bus = AxiReadBus.from_prefix(dut, prefix)
        self.slave = AxiSlaveRead(bus, dut.clk, dut.rst, target=self)
        self.slave.log.setLevel("WARNING")
        if stall is not never:
            self.slave.ar_channel.set_pause_generator(iter(stall, None))
            self.slave.r_channel.set_pause_generator(iter(stall, None))

    async def read(self, address, length):
        if address in self.bad:
            raise OSError("this address fails")
        return self.bytes[address : address + length].tobytes()

    def beats(self, indices, beat_bytes) -> list[int]:
        """Return the beats at ``indices``, as numbers."""
        words = self.bytes.reshape(-1, beat_bytes)
        return [int.from_bytes(words[index].tobytes(), "little") for index in indices]


class Asked(NamedTuple):
    """A burst: its beats, and the cycles in which it was first offered and was taken."""

    beat: int
    beats: int
    offered: int
    taken: int


class BurstJudge:
    """Checks every AR against the rules of AXI and the windows, and remembers it."""

    def __init__(self, dut, prefix, params: ReadMasterParams):
        self.dut, self.params = dut, params
        names = ("araddr", "arlen", "arsize", "arburst", "arvalid", "arready", "rready")
        self.port = {name: getattr(dut, f"{prefix}_{name}") for name in names}
        self.bursts: list[Asked] = []
        cocotb.start_soon(self._watch())

    async def _watch(self):
        port, edge, waiting, offered = self.port, RisingEdge(self.dut.clk), None, 0
        while True:
            await edge
            if self.dut.rst.value:
                continue
            assert port["rready"].value, "R is never held up"
            if not port["arvalid"].value:
                assert waiting is None, "a waiting burst went away"
                continue
            now = int(port["araddr"].value), int(port["arlen"].value)
            assert waiting in (None, now), "a waiting burst changed"
            if waiting is None:
                waiting, offered = now, cycle()
            if port["arready"].value:
                waiting = None
                self._judge(*now, offered)

    def _judge(self, address, length, offered):
        beat_bytes = self.params.beat_bytes
        beats = length + 1
        assert int(self.port["arburst"].value) == Burst.INCR.value
        assert 1 << int(self.port["arsize"].value) == beat_bytes
        assert address % beat_bytes == 0
        assert beats <= self.params.burst_beats
        assert address // FOUR_KB == (address + beats * beat_bytes - 1) // FOUR_KB
        first, last = address // beat_bytes, address // beat_bytes + length
        assert first // self.params.burst_beats == last // self.params.burst_beats
        self.bursts.append(Asked(first, beats, offered, cycle()))

    @property
    def asked(self) -> list[int]:
        """Return all beats that were asked for, in order."""
        return [burst.beat + k for burst in self.bursts for k in range(burst.beats)]


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
