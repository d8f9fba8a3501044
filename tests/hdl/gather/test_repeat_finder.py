"""Tests the search for repeated idxs, at any distance, against a model of the slots."""

import random
from itertools import cycle

import cocotb

from hdl.gather.params import SHARE, SLOTS, GatherParams
from hdl.gather.repeat_finder import RepeatFinder
from hdl.pcie.params import ReadRequesterParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, benched, never
from sim.harness.verilator import simulate

IDX_BITS = 20
PARAMS = GatherParams(
    idx_bits=IDX_BITS,
    kept_parts=64,
    reads=ReadRequesterParams(data_bits=256, tags=4, user_bits=SHARE.size),
)
AT_ONCE = 2  #: how many idxs before one may not be known yet


def test_repeat_finder():
    simulate(RepeatFinder(PARAMS), __name__)


def hashed(idx):
    """Return the hash of an idx; of idxs with the same hash only the last one is found."""
    return (idx ^ idx >> 8) % SLOTS


class FinderBench(Bench):
    """Sends idxs in, and checks which of them repeat when they come out."""

    async def clear(self, slots=SLOTS, coalesce=1):
        self.set(coalesce=coalesce, slots=slots - 1)
        await self.strobe(clear=1)

    async def find(self, idxs, slots=SLOTS, coalesce=1):
        """Send an array of idxs; check the result; return which of them repeat."""
        await self.clear(slots, coalesce)
        before = len(self.result.beats)
        self.idxs.extend([{"idx": idx, "final": k == len(idxs)} for k, idx in enumerate(idxs, 1)])
        await self.result.wait_for(before + len(idxs))
        await self.settle(1)
        result = self.result.beats[before:]
        assert [(item["idx"], bool(item["final"])) for item in result] == [
            (idx, k == len(idxs)) for k, idx in enumerate(idxs, 1)
        ]
        self.judge(result, slots, coalesce)
        return [bool(item["repeats"]) for item in result]

    def judge(self, result, slots, coalesce):
        """Check that slots are given in turn, and that idxs repeat as they may and must."""
        fetched = 0  # number of rows
        owners = [None] * slots  # the idx of each slot
        last = {}  # by hash: place and slot of the idx that was fetched last
        for k, item in enumerate(result):
            idx, slot = item["idx"], item["slot"]
            if item["repeats"]:
                assert coalesce
                assert owners[slot] == idx, k
                continue
            known = last.get(hashed(idx))
            if known is not None and coalesce:
                place, stored = known
                early = any(other["idx"] == idx for other in result[max(0, k - AT_ONCE) : k])
                assert early or k - place <= AT_ONCE or owners[stored] != idx, k
            assert slot == fetched % slots, k
            owners[slot] = idx
            last[hashed(idx)] = k, slot
            fetched += 1


@benched(FinderBench, stalls=STALLS, slots=[2, 8, 64, 256])
async def rows_that_are_kept(bench, slots):
    """Rows are found as the model says for few idxs and for many, some with a common hash."""
    for count in (2, slots // 2 + 1, slots, 2 * slots):
        some = [random.getrandbits(IDX_BITS) for _ in range(count)]
        some += [idx ^ 257 * random.getrandbits(8) for idx in some[: count // 2]]
        repeats = await bench.find(random.choices(some, k=400), slots)
        if count < slots // 2:
            assert any(repeats)
    idxs = random.sample(range(1 << IDX_BITS), 6) * 4
    assert not any(await bench.find(idxs, slots, coalesce=0))


@benched(FinderBench)
async def an_idx_that_differs_in_a_bit(bench):
    """It is not taken for the idx that it differs from, for each bit."""
    for bit in range(IDX_BITS):
        idx = random.getrandbits(IDX_BITS)
        away = [idx ^ 1 << bit, idx]
        others = [k for k in random.sample(range(1 << IDX_BITS), 5) if k not in away][:3]
        repeats = await bench.find([idx, *others, *away, *others, idx])
        assert not repeats[0]
        assert not repeats[4]


@benched(FinderBench)
async def a_slot_for_each_row(bench):
    """As many idxs as there are slots all repeat; with one idx more, none does."""
    for slots in (8, 16, SLOTS):
        idxs = list(range(slots))  # each has a hash of its own
        repeats = await bench.find(idxs * 3, slots)
        assert repeats == [k >= slots for k in range(3 * slots)]
        more = [*idxs, slots] if slots < SLOTS else [*idxs, SLOTS + 1]
        assert not any(await bench.find(more * 2, slots))
        few = idxs[: slots - 2]
        assert await bench.find(few * 2, slots) == [k >= len(few) for k in range(2 * len(few))]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_slot_from_its_own_row_on(dut):
    """No sooner, though it had the same row before the others were forgotten; and no later."""
    pauses = cycle([False, *[True] * 4])
    bench = await FinderBench(dut, (lambda: next(pauses), never)).begin()
    for slots in (8, SLOTS):
        for _ in range(2):
            repeats = await bench.find([k // 2 for k in range(2 * slots)], slots)
            assert repeats == [False, True] * slots


@benched(FinderBench)
async def an_idx_a_cycle_and_no_longer_than_stated(bench):
    await bench.find([7 * k % 50 for k in range(100)])
    assert bench.result.cycles[0] - bench.idxs.cycles[0] == RepeatFinder.latency
    assert bench.result.cycles[-1] - bench.result.cycles[0] == 99
