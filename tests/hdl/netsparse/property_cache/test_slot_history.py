import random
from collections import deque

from hdl.netsparse.property_cache.params import PRESETS, REACH, Operation
from hdl.netsparse.property_cache.slot_history import SlotHistory
from sim.harness.bench import Bench
from sim.harness.streams import benched
from tests.simulated import simulated

test_slot_history = simulated(SlotHistory, [PRESETS["tiny"]], __name__)


def near(row, other, bits):
    """Return ``other``, ``row`` or a neighbour of it that differs in a bit."""
    return random.choice((other, row, row, row ^ 1 << random.randrange(bits)))


@benched(Bench, us=50)
async def accesses_of_the_same_row_and_line(bench):
    params = bench.params
    empty = {"operation": Operation.NONE, "row": 0, "tag": 0}
    past = deque([empty] * (REACH + 1), REACH + 1)  # the newest first
    row, tag, slots = 0, 0, []
    for _ in range(3000):
        row = near(row, random.randrange(params.rows), params.row_bits)
        tag = near(tag, random.getrandbits(params.tag_bits), params.tag_bits)
        slots.append({"operation": random.choice(list(Operation)), "row": row, "tag": tag})
    cycles = [{"slot": slot} for slot in slots]
    shown = await bench.played(cycles, "past", "same_row", "same_line")
    for slot, item in zip(slots, shown, strict=True):
        assert item["past"] == list(past)[:REACH]
        requested = past[0]  # what is told of now is the slot of a cycle ago
        accesses = [
            s if s["operation"] in (Operation.LOOKUP, Operation.INSERT) else None
            for s in list(past)[1:]
        ]
        rows = [s is not None and s["row"] == requested["row"] for s in accesses]
        lines = [
            same and s["tag"] == requested["tag"] for same, s in zip(rows, accesses, strict=True)
        ]
        assert item["same_row"] == sum(same << k for k, same in enumerate(rows))
        assert item["same_line"] == sum(same << k for k, same in enumerate(lines))
        past.appendleft(slot)
