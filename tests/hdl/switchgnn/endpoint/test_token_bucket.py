"""Tests the endpoint's rate control against its golden model, which has the rate's test."""

import random

import cocotb
import numpy as np

from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.token_bucket import TokenBucket
from sim.harness.streams import start
from sim.harness.verilator import simulate
from sim.switchgnn.golden.congestion import UNIT, RateSettings, TokenBuckets
from tests.hdl.stateful import follow


def test_token_bucket():
    simulate(TokenBucket(PRESETS["tiny"]), __name__, registers=["tokens", "time"])


class Bucket:
    """Has the golden bucket, with settings, and ends, that are drawn."""

    def __init__(self):
        self.settings = {}
        self.size = self.beats = 0  # beats of a frame, at most, and those that are left of one
        self.reset()

    def reset(self):
        self.begun = False
        self.model = TokenBuckets(1, RateSettings(**self.settings))
        self.model.rate[0] = 0

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
        rate = int(self.model.rate[0])
        near = (0, -rate, UNIT - rate, full, full - rate, bits(28))
        tokens = min(random.choice(near) + random.randrange(-2, 3), full)
        time = max(0, trip - random.choice((1, 5, 20, 1 << bits(5) % 24)))
        self.model.tokens[0], self.model.time[0] = tokens, time
        self.model.settings = RateSettings(**self.settings)
        self.age = 0  # cycles with these settings
        return {"tokens": tokens, "time": time}

    def draw(self):
        self.age += 1
        if not self.beats and (self.model.may_begin[0] or not self.settings["enabled"]):
            self.beats = self.size * (random.random() < self.pours)
        beat = int(self.beats > 0)
        self.beats -= beat
        congested = self.age > 2 and random.random() < self.congestion
        reset = int(random.random() < 0.02)
        return {"settings": self.settings, "beat": beat, "congested": int(congested), "rst": reset}

    def outputs(self, inputs):
        return {
            "may_begin": int(self.model.may_begin[0]),
            "halved": int(self.begun and self.model.halves(np.array([inputs["congested"]]))[0]),
            "rate": int(self.model.rate[0]),
        }

    def step(self, inputs):
        if inputs["rst"]:
            return self.reset()
        self.model.step(np.array([inputs["congested"] and self.begun]), np.array([inputs["beat"]]))
        if not self.begun:
            self.model.rate[0], self.model.time[0] = self.settings["most"], 0
        self.begun = True


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def follows_its_model(dut):
    """Every token and every cycle of a round trip counts, whatever the settings are."""
    dut.settings.value = dut.congested.value = dut.beat.value = 0
    await start(dut)
    await follow(dut, Bucket(), runs=400)
