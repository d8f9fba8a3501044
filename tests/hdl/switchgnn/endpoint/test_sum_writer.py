"""Writes beats to memory, and checks for which slots all are there."""

import random
from collections import deque

import cocotb

from hdl.switchgnn.endpoint.bundles import SLOTS
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.sum_writer import COUNT_BITS, SumWriter
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed
from sim.harness.verilator import simulate
from tests.hdl.switchgnn.extremes import some_number

WRITES = 300


def test_sum_writer():
    counts = [f"under_way_{k}" for k in range(SLOTS)]
    simulate(SumWriter(PRESETS["tiny"]), __name__, registers=counts)


class SumWriterBench(Bench):
    """Plays a port that answers in order, some time later."""

    def __init__(self, dut, stalls=STALLS[0]):
        super().__init__(dut, stalls)
        self.provided, self.under_way, self.answers = [], [0] * SLOTS, deque()
        self.seen = self.reported = 0  # writes that were taken, bursts that are to be answered

    def give(self, slot):
        write = {name: some_number(field.width) for name, field in self.params.write}
        self.provided.append(write | {"slot": slot})
        self.writes.append(self.provided[-1])

    async def step(self, answers=0.3):
        """Play a cycle, and check which slots are said to be written."""
        dut = self.dut
        answered = bool(self.answers) and random.random() < answers
        slot = self.answers.popleft() if answered else random.randrange(SLOTS)
        dut.answered.value, dut.answered_slot.value = answered, slot
        await self.edge
        assert int(dut.written.value) == sum((not n) << k for k, n in enumerate(self.under_way))
        if dut.writes_valid.value and dut.writes_ready.value:
            self.under_way[self.provided[self.seen]["slot"]] += 1
            self.seen += 1
        self.under_way[slot] -= answered
        self.answers.extend(burst["tag"] for burst in self.bursts.beats[self.reported :])
        self.reported = len(self.bursts.beats)


@crossed(stalls=STALLS, us=100)
async def every_beat_is_written(dut, stalls):
    """Each is written by a burst of its own, in order."""
    bench = await SumWriterBench(dut, stalls).begin()
    for _ in range(WRITES):
        bench.give(random.randrange(SLOTS))
    while len(bench.beats.beats) < WRITES or any(bench.under_way):
        await bench.step()
    await bench.step()
    bursts = [{"address": 64 * item["beat"], "tag": item["slot"]} for item in bench.provided]
    beats = [
        {name: item[name] for name in ("data", "strobes")} | {"last": 1} for item in bench.provided
    ]
    assert bench.bursts.beats == bursts
    assert bench.beats.beats == beats
    if stalls.absent:
        first = bench.writes.cycles[0] + SumWriter.latency
        assert bench.beats.cycles == list(range(first, first + WRITES))


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_stop_begins_no_burst(dut):
    """The beat of a burst that has begun follows."""
    ready = {"bursts": True, "beats": False}
    bench = SumWriterBench(dut)
    bench.bursts.stall = lambda: not ready["bursts"]
    bench.beats.stall = lambda: not ready["beats"]
    await bench.begin()
    for _ in range(10):
        bench.give(random.randrange(SLOTS))
    for _ in range(10):
        await bench.step()
    assert (len(bench.bursts.beats), len(bench.beats.beats)) == (1, 0)
    dut.stop.value, ready["beats"] = 1, True
    for _ in range(10):
        await bench.step()
    assert (len(bench.bursts.beats), len(bench.beats.beats)) == (1, 1)
    dut.stop.value = 0
    while any(bench.under_way):
        await bench.step()
    assert len(bench.beats.beats) == 10


@cocotb.test(timeout_time=200, timeout_unit="us")
async def beats_are_counted_in_every_bit(dut):
    """Counts begin from presets, as few are under way at a time."""
    bench = await SumWriterBench(dut).begin()
    for bit in range(COUNT_BITS):
        for slot in range(SLOTS):
            getattr(dut, f"under_way_{slot}").value = 1 << bit
            bench.under_way[slot] = 1 << bit
        await bench.edge
        for _ in range(3):
            await bench.step(answers=0)
        slots = [slot for slot in range(SLOTS) for _ in range(1 << bit)]
        bench.answers.extend(random.sample(slots, len(slots)))
        while bench.answers:
            await bench.step(answers=1)
        await bench.step()
        assert bench.under_way == [0] * SLOTS
