"""Tests how many beats may leave in how much time."""

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.switchgnn.endpoint.bundles import RATE_SETTINGS
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.token_bucket import UNIT, TokenBucket
from sim.harness.payloads import pack
from sim.harness.streams import crossed, start
from sim.harness.verilator import simulate
from tests.hdl.stateful import follow

MOST, LEAST, STEP, TRIP, BURST = UNIT // 4, UNIT // 32, UNIT // 64, 200, 10


def test_token_bucket():
    simulate(TokenBucket(PRESETS["tiny"]), __name__, registers=["tokens", "time"])


async def begin(dut, **settings):
    provided = {"enabled": 1, "most": MOST, "least": LEAST, "step": STEP}
    provided |= {"burst": BURST, "round_trip": TRIP}
    dut.settings.value = pack(RATE_SETTINGS, provided | settings)
    dut.congested.value = dut.beat.value = 0
    await start(dut)
    await ClockCycles(dut.clk, 2)


async def pour(dut, cycles, size=1):
    """Return the beats that leave in this many cycles, in frames of ``size``, without a pause."""
    left = beats = 0
    for _ in range(cycles):
        await RisingEdge(dut.clk)
        if not left and dut.may_begin.value:
            left = size
        dut.beat.value = left > 0
        beats += left > 0
        left = max(0, left - 1)
    dut.beat.value = 0
    return beats


@crossed(size=[1, 2, 9], rate=[UNIT // 2, UNIT // 8, UNIT // 100], us=100)
async def the_rate_is_kept(dut, size, rate):
    await begin(dut, most=rate)
    cycles = 4000
    beats = await pour(dut, cycles, size)
    # What a frame has on credit, and those under way when the test looks.
    assert abs(beats - cycles * rate / UNIT) <= 2 * size + 3


class Bucket:
    """Keeps tokens and rate as they are said to be, with settings, and ends, that are drawn."""

    def __init__(self):
        self.settings = {}
        self.size = self.beats = 0  # beats of a frame, at most, and those that are left of one
        self.reset()

    def reset(self):
        self.begun = self.recent = False
        self.tokens = self.left = self.rate = self.time = 0

    def preset(self):
        """Draw settings near each other's bounds; set tokens near 0 or all, time near its end."""
        bits = random.getrandbits
        most = random.choice(
            (UNIT, bits(16), 1 << random.randrange(17), random.randrange(1000, UNIT))
        )
        low = random.choice((most // 2, most)) + random.choice((-1, 1)) * bits(random.randrange(9))
        least = random.choice((0, max(0, low), bits(16)))
        step = random.choice((abs(most - least) + random.randrange(-1, 2), bits(16), 1 << bits(4)))
        trip = random.choice((random.randrange(3, 30), 1 << bits(5) % 24, bits(24) | 4))
        self.settings = {
            "enabled": int(random.random() < 0.9),
            "most": most,
            "least": min(least, UNIT),
            "step": step % (1 << 16) * (random.random() < 0.9),
            "burst": random.choice((bits(3), bits(12), 1 << bits(4) % 12)),
            "round_trip": trip,
        }
        self.size = random.choice((1, 1, 2, 9))
        self.congestion = random.choice((0, 0.05, 0.5))
        self.pours = random.choice((0.3, 1, 1))
        full = UNIT * self.settings["burst"]
        near = (0, -self.rate, UNIT - self.rate, full, full - self.rate, bits(28))
        self.tokens = min(random.choice(near) + random.randrange(-2, 3), full)
        self.time = max(0, trip - random.choice((1, 5, 20, 1 << bits(5) % 24)))
        self.age = 0  # cycles with these settings
        return {"tokens": self.tokens, "time": self.time}

    def draw(self):
        self.age += 1
        if not self.beats and (self.tokens >= 0 or not self.settings["enabled"]):
            self.beats = self.size * (random.random() < self.pours)
        beat = int(self.beats > 0)
        self.beats -= beat
        congested = self.age > 2 and random.random() < self.congestion
        reset = int(random.random() < 0.02)
        return {"settings": self.settings, "beat": beat, "congested": int(congested), "rst": reset}

    def halved(self, inputs):
        over = self.time >= self.settings["round_trip"]
        may = self.settings["enabled"] and self.begun and (over or not self.recent)
        return int(inputs["congested"] and may)

    def outputs(self, inputs):
        return {
            "may_begin": int(self.tokens >= 0),
            "halved": self.halved(inputs),
            "rate": self.rate,
        }

    def step(self, inputs):
        if inputs["rst"]:
            return self.reset()
        full = UNIT * self.settings["burst"]
        if not self.settings["enabled"]:
            self.tokens = 0
        elif self.tokens >= full and not self.left:
            self.tokens = full
        else:
            self.tokens += self.rate - UNIT * self.left
        self.left = inputs["beat"]
        self.adapt(self.halved(inputs))

    def adapt(self, halved):
        settings = self.settings
        over = self.time >= settings["round_trip"]
        self.time = 0 if halved or over or not self.begun else (self.time + 1) % (1 << 24)
        if not self.begun:
            self.rate = settings["most"]
        elif halved:
            self.rate = max(settings["least"], self.rate // 2)
        elif over:
            self.rate = min(settings["most"], self.rate + settings["step"])
        self.recent = self.begun and (halved or (self.recent and not over))
        self.begun = True


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def follows_its_model(dut):
    """Every token and every cycle of a round trip counts, whatever the settings are."""
    dut.settings.value = dut.congested.value = dut.beat.value = 0
    await start(dut)
    await follow(dut, Bucket(), runs=400)
