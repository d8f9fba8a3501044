"""Tests which turns are loaded, begun and over, by a count of what may be."""

import random

import cocotb

from hdl.switchgnn.endpoint.bundles import SLOTS
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.progress import SETTLING, Progress
from sim.harness.bench import Bench
from sim.harness.streams import start
from sim.harness.verilator import simulate
from tests.hdl.stateful import follow
from tests.hdl.wrapped import Wrapped

NUMBERS = ("lo", "next", "loading", "beginning")
WHOLE = 1 << 32


class WrappedProgress(Wrapped):
    kind = Progress


def test_progress():
    simulate(WrappedProgress(PRESETS["tiny"]), __name__, registers=NUMBERS)


class Turns:
    """Counts turns from the oldest open one on: those that are loaded, and those that began."""

    def __init__(self):
        self.lo = self.loaded = self.begun = 0
        self.quiet = 0  # cycles since a turn was loaded, began or ended
        self.shown = []  # whether all is over, and what is open, in the cycles before

    def preset(self):
        """Draw numbers of turns around a change of any bit, and how many of them there are."""
        self.turns = random.choice((1 << random.randrange(3, 32), random.randrange(10, WHOLE)))
        self.turns += random.randrange(5)
        self.lo = max(0, self.turns - self.loaded - random.randrange(6))
        if self.loaded > self.turns - self.lo:  # nothing is loaded that is not of the job
            self.turns = self.lo + self.loaded
        self.ready = max(0, self.lo + random.choice((-1, 0, 1, 2, 3, SLOTS, 100)))
        self.ready = random.choice((self.ready, self.turns))
        self.two_open = random.getrandbits(1)
        self.chances = {name: random.choice((0.1, 0.4, 1)) for name in ("load", "free", "end")}
        self.may_skip = random.random() < 0.3
        self.age = 0  # cycles with these settings
        shown = (self.lo, self.lo + 1, self.lo + self.loaded, self.lo + self.begun)
        return {f"part.{name}": n % WHOLE for name, n in zip(NUMBERS, shown, strict=True)}

    def happens(self, name):
        return random.random() < self.chances[name]

    @property
    def loads(self):
        ends = self.lo + self.loaded == self.turns
        return self.quiet >= SETTLING and self.loaded < SLOTS and not ends

    @property
    def may_begin(self):
        return self.begun < min(1 + self.two_open, self.loaded)

    def draw(self):
        settled = self.age > SETTLING
        skips = self.may_skip or self.begun > 0
        advance = settled and self.quiet > 1 and self.loaded > 0 and skips and self.happens("end")
        return {
            "turns": self.turns,
            "ready": self.ready,
            "two_open": self.two_open,
            "free": int(settled and self.happens("free")),
            "loaded": int(settled and self.loads and self.happens("load")),
            "advance": int(advance),
        }

    def begins(self, inputs):
        may = self.may_begin and self.lo + self.begun < self.ready and self.quiet >= SETTLING
        return may and inputs["free"] and not inputs["advance"]

    def outputs(self, inputs):
        if self.age < 3:
            return {}
        numbers = (self.lo, self.lo + 1, self.lo + self.loaded, self.lo + self.begun)
        shown = dict(zip(NUMBERS, numbers, strict=True)) | {
            "is_loaded": (1 << min(2, self.loaded)) - 1,
            "has_begun": (1 << min(2, self.begun)) - 1,
            "finished": int(self.shown[-1][0]),
            "is_open": self.shown[-1][1],
            "load": int(self.loads),
            "begin": int(self.begins(inputs)),
            "end": int(inputs["advance"] and self.begun == 1),
        }
        if self.quiet >= SETTLING:
            late = self.may_begin and self.lo + self.begun >= self.ready
            shown["waits"] = int(late and inputs["free"])
        return shown

    def step(self, inputs):
        left = self.turns - self.lo
        self.shown = [(not left, (1 << min(1 + self.two_open, left)) - 1)]
        begins = self.begins(inputs)
        changes = begins or inputs["loaded"] or inputs["advance"]
        self.quiet = 0 if changes else self.quiet + 1
        self.age += 1
        self.loaded += inputs["loaded"] - inputs["advance"]
        self.begun = max(0, self.begun + begins - inputs["advance"])
        self.lo += inputs["advance"]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def follows_its_model(dut):
    """Turns are loaded ahead and begin in order, none before its time; every bit counts."""
    Bench(dut)
    await start(dut)
    await follow(dut, Turns(), runs=400)
