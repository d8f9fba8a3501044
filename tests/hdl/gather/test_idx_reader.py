"""Tests reads of arrays of idxs anywhere in host or device memory; some reads fail."""

import random

import cocotb

from hdl.gather.engine_params import CHUNK, GatherEngineParams
from hdl.gather.idx_reader import IdxReader
from sim.golden.pcie_requester import Cause, cut
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, benched
from tests.simulated import simulated

SIZES = [
    GatherEngineParams(data_bits=256, tags=4, idx_bits=20, idx_chunks=2),
    GatherEngineParams(tags=4, idx_chunks=4),
]

test_idx_reader = simulated(IdxReader, SIZES, __name__)


class ReaderBench(Bench):
    """Has memory that answers each request, and notes the idxs that must come out."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls)
        self.answers = []  # beats that answer each request
        self.required, self.requested, self.ends = [], [], []  # idxs, requests, array ends by idxs
        self.unread = 0
        cocotb.start_soon(self.answer())
        self.failed = self.record("failed", "failed")
        self.offered = self.record("beats_valid")

    def issue(self, count, *, wide=False, on_card=False, fails=0.0, place=None):
        """Ask for an array, and make its beats; each fails with probability ``fails``."""
        size = 8 if wide else 4
        if place is None:
            place = size * random.randrange(CHUNK // size)
        address = CHUNK * random.randrange(1 << 52) + place
        self.arrays.append({"address": address, "count": count, "wide": wide, "on_card": on_card})
        end, largest = address + size * count, (1 << self.params.idx_bits) - 1
        most = random.choice([128, CHUNK])  # bytes of a read
        for chunk in cut(address, size * count, CHUNK):
            self.requested.append((chunk.address, chunk.size))
            self.answers.append([])
            for first, begin, behind in self.spans(chunk, on_card, most):
                idxs = [some_idx(wide) for _ in range(first, behind, size)]
                bits = random.getrandbits(self.params.data_bits)
                for k, idx in enumerate(idxs):
                    at = 8 * (first - begin + size * k)
                    bits = bits & ~((1 << 8 * size) - 1 << at) | idx << at
                failed = random.random() < fails
                self.unread += failed * len(idxs)
                self.required += [largest if failed or idx > largest else idx for idx in idxs]
                self.answers[-1].append(
                    {
                        "data": bits & (1 << self.params.data_bits) - 1,
                        "bytes": behind - begin,
                        "last": behind == chunk.end,
                        "cause": int(random.choice(list(Cause)[1:]) if failed else Cause.NONE),
                    }
                )
        assert self.requested[-1][0] + self.requested[-1][1] == end
        self.ends.append(len(self.required))

    def spans(self, chunk, on_card, most):
        """Yield start of data, start of beat and end of data for each beat of an answer.

        Beats of device memory are aligned to its bus; beats of host memory begin with their read.
        """
        beat_bytes = self.params.beat_bytes
        if on_card:
            for begin in range(chunk.address - chunk.address % beat_bytes, chunk.end, beat_bytes):
                yield max(begin, chunk.address), begin, min(begin + beat_bytes, chunk.end)
            return
        for read in cut(chunk.address, chunk.size, most):
            for begin in range(read.address, read.end, beat_bytes):
                yield begin, begin, min(begin + beat_bytes, read.end)

    async def answer(self):
        """Answer requests in their order, one after the other."""
        for k in range(1 << 20):
            await self.requests.wait_for(k + 1)
            self.beats.extend(self.answers[k])

    async def finish(self):
        await self.settle(20)
        result = [(beat["idx"], bool(beat["final"])) for beat in self.idxs.beats]
        assert result == [(idx, k in self.ends) for k, idx in enumerate(self.required, 1)]
        assert [(item["address"], item["bytes"]) for item in self.requests.beats] == self.requested
        assert sum(item["failed"] for item in self.failed.beats) == self.unread
        assert self.offered.cycles == self.beats.cycles, "beats always find room"
        for end, taken in zip(self.ends, self.arrays.cycles[1:], strict=False):
            assert taken > self.idxs.cycles[end - 1]


def some_idx(wide):
    """Draw an idx of 8, 20, 21 or 32 bits; a wide one may have a bit above these."""
    bits = random.choice([8, 20, 20, 20, 21, 32])
    idx = random.getrandbits(bits) | 1 << bits - 1
    return idx | (1 << random.randrange(32, 64) if wide and random.random() < 0.3 else 0)


@benched(ReaderBench, stalls=STALLS, wide=[False, True], on_card=[False, True])
async def every_idx_in_its_order(bench, wide, on_card):
    """Arrays begin and end anywhere, in turn with arrays of other width in the other memory."""
    for _ in range(10):
        for count in (1, random.randrange(2, 40), random.choice([64, 127, 128, 129, 300])):
            bench.issue(count, wide=wide, on_card=on_card, fails=random.choice([0, 0.3, 1]))
        bench.issue(random.randrange(1, 20), wide=not wide, on_card=not on_card)
    await bench.finish()


@benched(ReaderBench, wide=[False, True], on_card=[False, True])
async def from_every_place_of_a_chunk(bench, wide, on_card):
    size = 8 if wide else 4
    for place in range(0, CHUNK, size):
        bench.issue((CHUNK - place) // size + random.randrange(2), place=place, wide=wide)
        bench.issue(random.randrange(1, 12), place=place, wide=wide, on_card=on_card)
    await bench.finish()


@benched(ReaderBench, wide=[False, True])
async def an_idx_a_cycle_and_no_longer_than_stated(bench, wide):
    bench.issue(600, wide=wide, place=64)
    await bench.finish()
    assert bench.requests.cycles[0] - bench.arrays.cycles[0] == IdxReader.request_latency
    assert bench.idxs.cycles[0] - bench.beats.cycles[0] == bench.component.latency
    assert bench.idxs.cycles[-1] - bench.idxs.cycles[0] == 600 - 1


@benched(ReaderBench, bit=range(9, 32))
async def arrays_of_any_length(bench, bit):
    """The first requests of arrays up to 2 ** 31 idxs are right, as many as are sent unanswered."""
    bench.answers = [[]] * bench.params.idx_chunks
    for wide in (False, True):
        before = len(bench.requests.beats)
        bench.arrays.append({"address": 0, "count": 1 << bit, "wide": wide, "on_card": 0})
        await bench.wait(40)
        result = [(item["address"], item["bytes"]) for item in bench.requests.beats[before:]]
        assert result == [(CHUNK * k, CHUNK) for k in range(bench.params.idx_chunks)]
        assert not bench.dut.arrays_ready.value
        bench.dut.rst.value = 1
        await bench.wait(3)
        bench.dut.rst.value = 0
        bench.answers += [[]] * bench.params.idx_chunks
