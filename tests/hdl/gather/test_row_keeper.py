"""Tests that rows which are fetched and rows which repeat leave in their order, part by part."""

import random

from hdl.gather.params import SHARE, SLOTS, GatherParams
from hdl.gather.row_keeper import RowKeeper
from hdl.pcie.params import ReadRequesterParams
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, benched
from tests.simulated import simulated

SIZES = [
    GatherParams(
        kept_parts=parts, reads=ReadRequesterParams(data_bits=256, tags=4, user_bits=SHARE.size)
    )
    for parts in (64, 1024)
]

test_row_keeper = simulated(RowKeeper, SIZES, __name__)


class KeeperBench(Bench):
    """Sends rows that are fetched, asks for rows that are kept, and knows what must come out."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls)
        self.stored, self.required = {}, []  # parts by slot; parts of all rows in order

    def fetch(self, slot, count):
        """Fetch a row of ``count`` parts into a slot."""
        requests = sorted({*random.sample(range(count), min(count, 3)), count - 1})
        row = []
        for k in range(count):
            user = {
                "skip": random.randrange(8),
                "drop": random.randrange(8),
                "last": k >= (requests[-2] + 1 if len(requests) > 1 else 0),
                "beyond": random.getrandbits(1),
                "final": random.getrandbits(1),
            }
            part = {
                "data": random.getrandbits(self.params.reads.data_bits),
                "bytes": random.randrange(1, 33),
                "last": k in requests,
                "user": user,
                "cause": random.randrange(11),
            }
            row.append(part)
            self.fetched.append(part | {"user": pack(SHARE, user)})
        self.stored[slot] = row
        self.give(slot, repeats=False)

    def give(self, slot, repeats=True):
        """Ask for the row of a slot; its parts have the ``final`` of its place in the order."""
        final = random.getrandbits(1)
        self.order.append({"slot": slot, "repeats": repeats, "final": final})
        for part in self.stored[slot]:
            self.required.append(part | {"user": pack(SHARE, part["user"] | {"final": final})})

    async def finish(self):
        await self.settle()
        for k, (result, expected) in enumerate(zip(self.parts.beats, self.required, strict=True)):
            assert result | {"cause": int(result["cause"].value)} == expected, f"part {k}"


@benched(KeeperBench, stalls=STALLS)
async def every_part_of_rows(bench):
    """Rows of all numbers of parts that fit a slot are right, in every slot."""
    for slot_bits in range(7):
        bench.dut.slot_bits.value = slot_bits
        slots = min(SLOTS, bench.params.kept_parts >> slot_bits)
        bench.stored = {}
        for k in range(60):
            slot = (k if k < slots else random.randrange(slots)) if k % 8 else slots - 1
            if slot in bench.stored and random.random() < 0.6:
                bench.give(slot)
            else:
                bench.fetch(
                    slot, random.choice([1, 1 << slot_bits, random.randint(1, 1 << slot_bits)])
                )
        await bench.finish()


@benched(KeeperBench)
async def a_part_a_cycle_and_no_longer_than_stated(bench):
    """This holds for rows that are fetched, and for rows that are kept."""
    bench.dut.slot_bits.value = 2
    for slot in range(8):
        bench.fetch(slot, 4)
    for slot in (5, 5, 1, 7, 0):
        bench.give(slot)
    await bench.finish()
    cycles = bench.parts.cycles
    assert cycles[0] - bench.fetched.cycles[0] == RowKeeper.latency
    assert cycles[-1] - cycles[0] == 4 * 13 - 1
