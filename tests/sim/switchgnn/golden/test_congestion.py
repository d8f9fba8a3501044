"""Compares the model of rate control with the hardware, cycle by cycle."""

import numpy as np
import pytest
from amaranth.sim import Simulator

from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.token_bucket import TokenBucket
from sim.switchgnn.golden.congestion import UNIT, RateSettings, TokenBuckets

CYCLES = 1500


def hardware(settings, congested, beats):
    """Return what a bucket says in every cycle: may begin, was halved, and its rate."""
    dut = TokenBucket(PRESETS["tiny"])
    result = []

    async def bench(context):
        context.set(dut.settings.enabled, 1)
        for name, value in vars(settings).items():
            context.set(dut.settings[name], value)
        await context.tick()  # the cycle after a reset, in which the rate is set
        for slow, beat in zip(congested, beats, strict=True):
            context.set(dut.congested, int(slow))
            context.set(dut.beat, int(beat))
            names = ("may_begin", "halved", "rate")
            result.append(tuple(int(context.get(getattr(dut, name))) for name in names))
            await context.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    return result


@pytest.mark.parametrize("often", [0.002, 0.1])
def test_the_model_is_the_hardware(often, rng):
    settings = RateSettings(most=UNIT // 2, least=900, step=700, burst=3, round_trip=37)
    model = TokenBuckets(2, settings)
    congested = rng.random((CYCLES, 2)) < [often, 0]
    wishes = rng.random((CYCLES, 2)) < 0.8
    said, beats = [], []
    for slow, wish in zip(congested, wishes, strict=True):
        may, rate, beat = model.may_begin, model.rate, wish & model.may_begin
        halved = model.step(slow, beat)
        beats.append(beat)
        said.append(np.stack([may, halved, rate]))
    for item in range(2):
        result = hardware(settings, congested[:, item], np.array(beats)[:, item])
        assert result == [tuple(each[:, item].tolist()) for each in said]
    assert model.rate[1] == settings.most
    assert min(each[2, 0] for each in said) < settings.most
