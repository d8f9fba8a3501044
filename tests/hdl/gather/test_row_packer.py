"""Tests that bytes of rows are packed, others dropped, failed parts zeroed, and rows joined."""

import random
from itertools import pairwise

from hdl.gather.params import SHARE, GatherParams
from hdl.gather.row_packer import RowPacker
from hdl.pcie.params import ReadRequesterParams
from sim.golden.pcie_requester import Cause
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, benched
from tests.hdl.gather.engine_bench import outcomes
from tests.simulated import simulated

SIZES = [GatherParams(reads=ReadRequesterParams(tags=4, user_bits=SHARE.size))]
SECTOR, DWORD = 32, 4  #: bytes

test_row_packer = simulated(RowPacker, SIZES, __name__)


class PackerBench(Bench):
    """Sends rows as a requester brings them, and checks the beats that come out."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls)
        self.size, self.reported = self.params.reads.data_bits // 8, self.reports("read")
        self.packed = []  # of each byte since the last end: value, beyond, final, cause
        self.required, self.rows = [], []
        self.joined = self.first = 0

    async def join(self, joined, first=0):
        """Set whether rows are joined, from byte ``first`` on, while the packer is empty."""
        self.joined, self.first = joined, first
        self.set(joined=joined, first=first)
        await self.wait(4)

    def row(self, octets, *, skip=0, sectors=False, final=False, causes=(Cause.NONE,), most=3):
        """Send a row, of up to ``most`` requests, in sectors or as it is, ``skip`` before it."""
        step = SECTOR if sectors else DWORD
        drop = -(skip + octets) % step
        total, beyond = skip + octets + drop, random.random() < 0.1
        places = range(step, total, step)
        cuts = [0, *sorted(random.sample(places, min(len(places), random.randrange(most)))), total]
        failed = False
        if not self.packed:
            self.packed = [(None, 0, 0, Cause.NONE)] * self.first
        for begin, end in pairwise(cuts):
            share = {
                "skip": skip if begin == 0 else 0,
                "drop": drop if end == total else 0,
                "last": end == total,
                "beyond": beyond,
                "final": final,
            }
            for at in range(begin, end, self.size):
                count = min(self.size, end - at)
                cause = random.choice(causes)
                failed |= cause != Cause.NONE
                data = random.randbytes(self.size)
                self.parts.append(
                    {
                        "data": int.from_bytes(data, "little"),
                        "bytes": count,
                        "last": at + count == end,
                        "user": pack(SHARE, share),
                        "cause": int(cause),
                    }
                )
                stored = range(max(skip - at, 0), min(count, skip + octets - at))
                lost = beyond or cause != Cause.NONE
                self.packed += [(0 if lost else data[k], beyond, final, cause) for k in stored]
        self.rows.append((beyond, failed))
        if final or not self.joined:
            self.end()

    def end(self):
        """End what has been packed, and note the beats that must come of it."""
        packed, cause = self.packed, Cause.NONE
        for at in range(0, len(packed), self.size):
            near = packed[at : at + self.size]
            part = near[-1]
            cause = next((item[3] for item in [(0, 0, 0, cause), *near] if item[3]), Cause.NONE)
            last = at + self.size >= len(packed)
            self.required.append(([item[0] for item in near], last, *part[1:3], cause))
        self.packed = []

    async def finish(self):
        await self.settle()
        for k, (beat, expected) in enumerate(zip(self.beats.beats, self.required, strict=True)):
            octets, last, beyond, final, cause = expected
            assert beat["bytes"] == len(octets), f"beat {k}"
            for lane, octet in enumerate(octets):
                assert octet in (None, beat["data"] >> 8 * lane & 0xFF), f"beat {k}"
            assert (beat["last"], beat["beyond"], beat["final"]) == (last, beyond, final)
            assert Cause(int(beat["cause"].value)) == cause, f"beat {k}"
        assert outcomes(self.reported) == self.rows


SOME = [Cause.NONE] * 20 + list(Cause)


@benched(PackerBench, stalls=STALLS, joined=[False, True])
async def every_byte_of_rows(bench, joined):
    """Rows are right for all numbers of skipped and dropped bytes, with parts that failed."""
    for first in random.sample(range(bench.size), 16) if joined else [0]:
        await bench.join(joined, first)
        for k in range(30 if joined else 200):
            bench.row(
                random.choice([1, 2, 31, 32, 33, random.randrange(1, 240)]),
                skip=random.randrange(SECTOR),
                sectors=True,
                final=k % 10 == 9,
                causes=random.choice([SOME, [Cause.NONE]]),
            )
            skip = random.randrange(DWORD)
            bench.row(random.randrange(1, 160), skip=skip, final=k == 29, causes=SOME)
        await bench.finish()


@benched(PackerBench)
async def bytes_before_and_behind_in_one_beat(bench):
    """Each number of them with each other, in as few sectors as may be."""
    for skip in range(SECTOR):
        for drop in range(SECTOR):
            bench.row(-(skip + drop + 1) % SECTOR + 1, skip=skip, sectors=True, most=1)
    await bench.finish()


@benched(PackerBench)
async def each_cause_of_a_row(bench):
    """Every cause in any part of a row is reported, and the next row is right."""
    for cause in Cause:
        for skip in range(SECTOR):
            bench.row(80, skip=skip, sectors=True, causes=[cause])
            bench.row(random.randrange(1, 36))
    await bench.finish()


@benched(PackerBench)
async def a_part_a_cycle_and_no_longer_than_stated(bench):
    for _ in range(20):
        bench.row(bench.size, most=1)
    await bench.finish()
    cycles = bench.beats.cycles
    assert cycles[0] - bench.parts.cycles[0] == RowPacker.latency
    assert cycles[-1] - cycles[0] == 20 - 1
