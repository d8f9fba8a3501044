"""Tests when a worker says that it has all of a turn."""

import random

import cocotb
import numpy as np

from hdl.switchgnn.endpoint.done_timer import DoneTimer
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.protocol import Kind
from sim.harness.bench import Bench
from sim.harness.streams import cycle, start
from sim.harness.verilator import simulate
from tests.hdl.stateful import follow

TIMEOUT = 50


def test_done_timer():
    simulate(DoneTimer(PRESETS["tiny"]), __name__, registers=["timer"])


@cocotb.test(timeout_time=100, timeout_unit="us")
async def says_it_at_once_and_again(dut):
    bench = await Bench(dut, timeout=TIMEOUT).begin()
    await bench.wait(3 * TIMEOUT)
    assert not dut.said.value
    assert not bench.jobs.beats
    bench.set(turn=77, complete=1)
    await bench.wait()
    complete = cycle()
    await bench.jobs.wait_for(4)
    assert all(job["kind"] is Kind.DONE and job["turn"] == 77 for job in bench.jobs.beats)
    assert bench.jobs.cycles[0] == complete + DoneTimer.latency
    steps = np.diff(bench.jobs.cycles)
    assert all(TIMEOUT < step < TIMEOUT + 5 for step in steps)
    assert dut.said.value


class Timer:
    """Is the job that is offered, and what is known of the turn; turns end at any time."""

    def __init__(self):
        self.timeout = self.turn = self.timer = 0
        self.has_all = False  # of the turn
        self.reset()

    def reset(self):
        self.complete = self.said = False
        self.offered = None  # the turn of the job that waits

    def preset(self):
        """Draw a timeout of any bits, and set the timer just before it or to all but one bit."""
        self.timeout = random.choice((random.randrange(40), random.getrandbits(32)))
        bit = 1 << random.randrange(32)
        near = self.timeout - random.randrange(1, 20)
        self.timer = max(0, random.choice((near, near, self.timeout ^ bit)))
        self.ready, self.ends = random.choice((0.1, 0.5, 1)), random.choice((0, 0.1, 0.4))
        return {"timer": self.timer}

    def draw(self):
        self.has_all = self.has_all or random.random() < 0.3
        return {
            "turn": self.turn,
            "complete": int(self.has_all),
            "over": int(random.random() < self.ends),
            "timeout": self.timeout,
            "jobs_ready": int(random.random() < self.ready),
            "rst": int(random.random() < 0.01),
        }

    def outputs(self, _):
        shown = {"said": int(self.said), "jobs_valid": int(self.offered is not None)}
        if self.offered is not None:
            shown["jobs_payload"] = {"kind": Kind.DONE, "turn": self.offered}
        return shown

    def step(self, inputs):
        over, moves = inputs["over"], inputs["jobs_ready"] or self.offered is None
        due = self.complete and (not self.said or self.timer >= self.timeout)
        taken = inputs["jobs_ready"] and self.offered is not None
        self.timer = 0 if taken else (self.timer + 1) % (1 << 32)
        if taken:
            self.said = self.offered == self.turn
        if moves:
            self.offered = self.turn if due and not over and not taken else None
        self.complete = self.has_all and not over
        if over:
            self.said = self.has_all = False
            self.turn ^= random.choice((1 << random.randrange(32), random.getrandbits(32)))
        if inputs["rst"]:
            self.reset()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def follows_its_model(dut):
    """A job is of its own turn, though two may differ in a single bit; every bit counts."""
    Bench(dut)
    await start(dut)
    await follow(dut, Timer(), runs=400)
