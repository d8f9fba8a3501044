import cocotb
import numpy as np

from hdl.p4sgd.engine.gradient_lane import GradientLane
from hdl.p4sgd.engine.params import EngineParams
from sim.golden.arithmetic import round_shift
from sim.harness import streams
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import (
    LOW,
    TOP,
    generator,
    plane_weight,
    planes_of,
    play,
    random_codes,
    wild,
)
from tests.simulated import simulated

SIZES = [EngineParams(), EngineParams(banks=3, max_bits=5), EngineParams(banks=1, max_bits=1)]
SIZES += [EngineParams(dsp=True), EngineParams(banks=3, max_bits=5, dsp=True)]
SIZES += [EngineParams(banks=16, dsp=True), EngineParams(banks=16, max_bits=16)]

test_gradient_lane = simulated(GradientLane, SIZES, __name__, short=[*SIZES[1:4], *SIZES[5:]])


def cases(rng, params, bits, signed):
    """Return codes and deltas of a lane's samples: the largest sums, ties, and any."""
    low, top = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    for code in (low, top):
        for delta in (LOW, TOP):
            yield np.full(params.banks, code), np.full(params.banks, delta)
    alone = np.eye(1, params.banks, dtype=np.int64)[0]
    for code in (1, low, top):
        for delta in (-3, -1, 1, 3):
            yield alone * min(code, top), alone * delta
    for _ in range(60):
        yield random_codes(rng, bits, signed, params.banks), wild(rng, 32, params.banks)


def skewed(params, rows):
    """Return ``rows`` with each bank's scaled delta as many cycles later as the lane wants it."""
    skews = [params.gradient.delta_skew(k) for k in range(params.banks)]
    rows = rows + [rows[-1] | {"valid": 0}] * max(skews)
    scaled = [row["scaled"] for row in rows]
    late = [[scaled[max(i - skew, 0)][k] for k, skew in enumerate(skews)] for i in range(len(rows))]
    return [row | {"scaled": shown} for row, shown in zip(rows, late, strict=True)]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(bits=[1, 3, 4, 5, 8], signed=[False, True], gaps=[0, 0.5])
async def sums_up_and_rounds(dut, bits, signed, gaps):
    params = params_in_simulator(EngineParams)
    rng = generator()
    bits = min(bits, params.max_bits)
    rows, ends, golden = [], [], []
    for codes, deltas in cases(rng, params, bits, signed):
        golden.append(int(round_shift(codes @ deltas, bits - signed)))
        for plane, ones in enumerate(planes_of(codes, bits)):
            while rng.random() < gaps:
                garbage = {"planes": int(rng.integers(1 << params.banks)), "first": 1}
                rows.append(garbage | {"valid": 0, "scaled": wild(rng, 32, params.banks)})
            scaled = deltas * plane_weight(plane, signed, params.max_bits)
            rows.append({"valid": 1, "first": plane == 0, "planes": ones, "scaled": scaled})
        ends.append(len(rows) - 1)
    await streams.start(dut)
    idle = [{"valid": 0, "first": 1}] * (params.gradient.latency + 4)
    gradient = (await play(dut, skewed(params, rows) + idle, "gradient"))["gradient"]
    assert [gradient[end + params.gradient.latency] for end in ends] == golden
    assert gradient[-1] == golden[-1]


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_reset_ends_what_is_under_way(dut):
    """Planes that have entered before a reset, or in it, are not added after it."""
    params = params_in_simulator(EngineParams)
    item = [1 << params.max_bits] * params.banks
    plane = {"valid": 1, "planes": (1 << params.banks) - 1, "scaled": item}
    await streams.start(dut)
    await play(dut, [plane | {"first": k == 0} for k in range(2 * params.gradient.latency)])
    dut.rst.value = 1
    await play(dut, [{}])
    dut.rst.value = 0
    trace = await play(dut, [{"valid": 0}] * (params.gradient.latency + 2), "gradient")
    assert len(set(trace["gradient"])) == 1
