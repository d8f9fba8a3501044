"""Compares the start and the end of jobs with a model, whatever comes in whichever cycle."""

import random

import cocotb

from hdl.switchgnn.endpoint.bundles import Cause, State
from hdl.switchgnn.endpoint.control import CALM, Control
from hdl.switchgnn.endpoint.params import PRESETS
from sim.harness.bench import Bench
from sim.harness.verilator import simulate
from tests.hdl.stateful import follow

ENDS = {"stop": State.IDLE, "finished": State.FINISHED, "failures": State.FAILED}


def test_control():
    simulate(Control(PRESETS["tiny"]), __name__)


class Job:
    """Is the state of a job, with what comes to it drawn: rarely or often, alone or together."""

    def __init__(self):
        self.chances = {}
        self.reset()

    def reset(self):
        self.state, self.cause, self.after, self.runs = State.IDLE, Cause.NONE, State.IDLE, False
        self.calm = 0  # cycles in which nothing has been under way

    def preset(self):
        names = ("start", "stop", "finished", "failures", "quiet", "inside", "rst")
        self.chances = {name: random.choice((0, 0.05, 0.3)) for name in names}
        self.chances |= {"start": 0.3, "quiet": random.choice((0.6, 0.9, 1)), "rst": 0.01}
        return {}

    def draw(self):
        inputs = {name: int(random.random() < chance) for name, chance in self.chances.items()}
        causes = random.choice((1 << random.randrange(5), random.getrandbits(5)))
        return inputs | {"failures": causes * inputs["failures"]}

    def outputs(self, _):
        halt = self.state is State.STOPPING or (self.runs and self.cause is not Cause.NONE)
        return {
            "state": self.state,
            "cause": self.cause,
            "run": int(self.runs),
            "reset": int(not self.runs),
            "halt": int(halt),
        }

    def step(self, inputs):
        if inputs["rst"]:
            return self.reset()
        ran, self.runs = self.runs, self.state in (State.RUNNING, State.STOPPING)
        if self.state is State.RUNNING:
            self.calm = 0
            failed = self.cause is not Cause.NONE
            if ran and (inputs["stop"] or inputs["finished"] or failed):
                self.after = State.IDLE if inputs["stop"] else State.FINISHED
                self.after = State.FAILED if failed else self.after
                self.state = State.STOPPING
            if ran and inputs["failures"] and not failed:
                lowest = inputs["failures"] & -inputs["failures"]
                self.cause = list(Cause)[lowest.bit_length()]
                self.after = State.FAILED
        elif self.state is State.STOPPING:
            if self.calm == CALM:
                self.state, self.runs = self.after, False
            self.calm = self.calm + 1 if inputs["quiet"] and not inputs["inside"] else 0
        elif inputs["start"]:
            self.state, self.cause = State.RUNNING, Cause.NONE


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def follows_its_model(dut):
    await Bench(dut).begin()
    await follow(dut, Job(), runs=400)


@cocotb.test(timeout_time=10, timeout_unit="us")
@cocotb.parametrize(how=[*ENDS])
async def a_job_runs_and_ends(dut, how):
    """It ends when all has been calm for so many cycles and one, and as it was asked to."""
    bench = await Bench(dut, quiet=0, inside=0).begin()
    await bench.strobe(start=1)
    await bench.wait(5)
    assert bench.value("state") is State.RUNNING
    await bench.strobe(**{how: 1})
    await bench.wait(20)
    assert bench.value("state") is State.STOPPING
    bench.set(quiet=1)
    await bench.wait(CALM + 1)
    assert bench.value("state") is State.STOPPING
    await bench.wait()
    assert bench.value("state") is ENDS[how]
    assert bench.value("cause") is (Cause.TABLES if how == "failures" else Cause.NONE)
