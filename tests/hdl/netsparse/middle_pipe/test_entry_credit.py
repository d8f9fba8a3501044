"""Tests what a PR gives back once it is known by how much its packet has grown."""

import random
from collections import deque

import cocotb

from hdl.common.streams import StreamRegister
from hdl.netsparse.concat.arrivals import Arrivals
from hdl.netsparse.concat.concatenator import Concatenator
from hdl.netsparse.concat.queue_table import QueueTable
from hdl.netsparse.middle_pipe.entry_credit import INSIDE, EntryCredit
from sim.harness.bench import Bench
from tests.hdl.netsparse.middle_pipe.bench import PIPE
from tests.simulated import simulated

ROOM = PIPE.output_room(True)
MOST = ROOM.packet  #: beats; a PR takes fewer
PACES = ((1, 0.5), (0.5, 1), (1, 1), (0.3, 0.3))  #: chances that a PR comes, and its credit

test_entry_credit = simulated(EntryCredit, [ROOM], __name__)


def test_holds_what_is_between():
    """A concatenator has taken no more PRs whose credit has not come."""
    stages = Arrivals.latency + QueueTable.latency + Concatenator.credit_latency
    assert StreamRegister.capacity + stages < INSIDE


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def gives_back_what_is_too_much(dut):
    """It gives back for each PR's port, in order, and nothing in other cycles."""
    waiting, full, cycles, due = deque(), 0, [], [None]
    bench = await Bench(dut).begin()
    for k in range(3000):
        comes, goes = PACES[k // 100 % len(PACES)]
        come = len(waiting) < INSIDE and random.random() < comes
        claim = {"port": random.randrange(ROOM.ports), "beats": random.randint(1, MOST)}
        credit = bool(waiting) and random.random() < goes
        grows = random.randint(0, waiting[0]["beats"]) if credit else random.randint(0, MOST)
        cycles.append({"comes": come, "credit": credit, "claim": claim, "grows": grows})
        full += len(waiting) == INSIDE
        if credit:
            oldest = waiting.popleft()
            due.append(oldest | {"beats": oldest["beats"] - grows})
        else:
            due.append(None)
        if come:
            waiting.append(claim)
    assert full > 100
    seen = await bench.played(cycles, "give")
    for record, expected in zip(seen, due[:-1], strict=True):
        give = record["give"]
        assert give["beats"] == (expected["beats"] if expected else 0)
        assert not give["beats"] or give["port"] == expected["port"]
