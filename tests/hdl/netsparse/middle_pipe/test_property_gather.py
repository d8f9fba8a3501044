"""Gathers a property from the beats of its response, for the cache."""

import random
from dataclasses import replace

from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.middle_pipe.property_gather import PropertyGather
from hdl.netsparse.protocol import LENGTH_BITS
from sim.harness.bench import Bench
from sim.harness.streams import benched, cycle
from sim.netsparse.golden.concatenation import Kind, Request
from tests.hdl.netsparse.concat.concatenator_bench import beats_of
from tests.hdl.netsparse.middle_pipe.bench import PIPE
from tests.simulated import simulated

SIZES = (4, 32, 60, 64, 68, 124, 128, 132, 192)  #: bytes; the last two are more than it can hold

test_property_gather = simulated(PropertyGather, [PIPE], __name__)


class GatherBench(Bench):
    """Moves beats of responses, and takes accesses."""

    def __init__(self, dut):
        super().__init__(dut)
        self.expected, self.accesses = [], []
        self.ended, self.came = [], []  # cycles: of last beats, and of accesses

    async def run(self, lengths, *, keeps=1.0, moves=1.0, takes=1.0):
        """Send a response of each length; some are kept, and beats and takers pause."""
        dut, beats = self.dut, []
        for length in lengths:
            data, idx = random.randbytes(length), random.getrandbits(PIPE.cache.idx_bits)
            pr = Request(kind=Kind.RESPONSE, dest=0, length=length, idx=idx, data=data)
            keep = random.random() < keeps
            parts = beats_of(PIPE.concatenator(True), pr)
            if length > PIPE.cache.max_bytes:  # no matter by how much
                pr = replace(pr, length=random.randrange(length, 1 << LENGTH_BITS))
                parts = [part | {"length": pr.length} for part in parts]
            beats += [(part, keep, pr) for part in parts]
        beats.reverse()
        quiet = 0
        while quiet < 10 or len(self.accesses) < len(self.expected):
            # Whether it is ready depends on whether the access is taken in this cycle.
            waiting = len(self.expected) > len(self.accesses)
            take = waiting and random.random() < takes
            dut.taken.value = int(take)
            ready = not waiting or take
            move = bool(beats) and ready and random.random() < moves
            beat, keep, pr = beats.pop() if move else (self.garbage(), 1, None)
            dut.idx.value, dut.keep.value = beat["pr"]["idx"], int(keep)
            for name in ("length", "last", "data"):
                getattr(dut, name).value = int(beat[name])
            dut.moves.value = int(move)
            await self.wait()
            assert bool(dut.ready.value) == ready
            assert bool(dut.valid.value) == waiting
            if waiting:
                self.compare()
            if take:
                self.accesses.append(self.expected[len(self.accesses)])
            if move and beat["last"] and keep:
                self.expected.append(pr)
                self.ended.append(cycle())
            quiet = 0 if beats else quiet + 1

    def garbage(self):
        """Return what is at the inputs while no beat moves."""
        bits = random.getrandbits
        fields = {"length": bits(LENGTH_BITS), "last": bits(1), "data": bits(8 * BEAT_BYTES)}
        return fields | {"pr": {"idx": bits(PIPE.cache.idx_bits)}}

    def compare(self):
        """Check that the access that waits is of the oldest response that was kept."""
        pr = self.expected[len(self.accesses)]
        access = self.value("access")
        assert access["insert"]
        assert (access["idx"], access["length"]) == (pr.idx, pr.length)
        whole = b"".join(part.to_bytes(16, "little") for part in access["property"])
        if pr.length <= len(whole):
            assert whole[: pr.length] == pr.data
        self.came.append(cycle())


@benched(GatherBench)
async def every_kept_property_is_an_access(bench):
    """Kept ones have any length, at any pace of either side; others leave nothing."""
    for keeps, moves, takes in ((0.5, 1, 0.5), (0.9, 0.6, 1), (0.7, 0.8, 0.3), (1, 1, 1)):
        await bench.run(random.choices(SIZES, k=100), keeps=keeps, moves=moves, takes=takes)
    assert len(bench.accesses) > 250


@benched(GatherBench)
async def one_comes_every_cycle(bench):
    """It comes one latency after its last beat."""
    await bench.run([32] * 50 + [128] * 20)
    assert bench.came == [at + PropertyGather.latency for at in bench.ended]
    assert bench.ended[:50] == [*range(bench.ended[0], bench.ended[0] + 50)]
