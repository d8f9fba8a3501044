"""Addresses come in the order in which they were freed; those of a dropped packet come again."""

import random
from collections import deque

import cocotb

from hdl.switch.forwarding.free_list import FreeList
from hdl.switch.forwarding.params import SPARE, ForwardingParams
from hdl.switch.forwarding.presets import PRESETS
from sim.harness.bench import Bench
from sim.harness.verilator import simulate


def test_free_list():
    simulate(FreeList(ForwardingParams(**PRESETS["tiny"])), __name__)


def drawn(beats, cycles):
    """Return what comes in each cycle, and the address that is given then."""
    free, used, taken = deque(range(beats)), deque(), 0
    result, addresses, rate = [], [], 0.5
    for n in range(cycles):
        if n % 500 == 0:  # from few addresses in use to all that may be, and back
            rate = random.choice((0, 0.1, 0.5, 0.9, 1))
        takes = len(used) + taken < beats - SPARE and random.random() < 0.8
        ends, keep = random.random() < 0.3, random.random() < 0.7
        frees = bool(used) and random.random() < rate
        if frees and random.random() < 0.5:
            used.rotate(random.randrange(len(used)))
        freed = used.popleft() if frees else random.randrange(beats)
        result.append({"takes": takes, "ends": ends, "keep": keep, "frees": frees, "freed": freed})
        addresses.append(free[taken])
        taken += takes
        if ends:
            used += [free.popleft() for _ in range(taken)] if keep else []
            taken = 0
        if frees:
            free.append(freed)
    return result, addresses


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def equals_a_queue_of_addresses(dut):
    bench = await Bench(dut).begin()
    beats = bench.params.beats
    for _ in range(2):
        idle = {"rst": 0, "takes": 0, "ends": 0, "keep": 0, "frees": 0}
        cycles = [idle | {"freed": random.randrange(beats)} for _ in range(beats + 3)]
        cycles[0]["rst"] = cycles[1]["rst"] = 1
        shown = await bench.played(cycles, "ready", "entered")  # behind the reset
        assert [beat["ready"] for beat in shown] == [0] * beats + [1]
        assert [beat["entered"] for beat in shown[:beats]] == list(range(beats))
        cycles, addresses = drawn(beats, 5000)
        shown = await bench.played(cycles, "address", "ready")
        assert [beat["address"] for beat in shown] == addresses
        assert all(beat["ready"] for beat in shown)
