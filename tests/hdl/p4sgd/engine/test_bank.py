import cocotb
import numpy as np

from hdl.p4sgd.engine.bank import Bank
from hdl.p4sgd.engine.params import EngineParams
from sim.harness import streams
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import (
    generator,
    pairs,
    plane_weight,
    planes_of,
    play,
    position_of,
    random_codes,
    wild,
)
from tests.simulated import simulated

SIZES = [EngineParams(lanes=max_bits, max_bits=max_bits, chunks=2) for max_bits in (1, 4, 7)]
SIZES += [EngineParams(lanes=64, chunks=4)]
SIZES += [EngineParams(lanes=lanes, chunks=3, dsp=True) for lanes in (1, 13, 64)]
SIZES += [EngineParams(lanes=16, chunks=2, max_bits=16)]
SIZES += [EngineParams(lanes=13, chunks=3, dsp=True, pair_sums=True)]
BITS = [1, 3, 4, 8]
TAG_FIELDS = ("first_plane", "last_plane", "first_chunk")

test_bank = simulated(Bank, SIZES, __name__, short=[*SIZES[:2], *SIZES[3:6], SIZES[7]])


def row_of_plane(index, bits, chunks, signed, plane, weights):
    position = position_of(index, bits, chunks)
    tag = {name: position[name] for name in TAG_FIELDS}
    tag["negative"] = signed and position["first_plane"]
    return {"valid": 1, "tag": tag, "plane": plane, "weights": weights}


def gap(rng, params):
    """Return a cycle without a plane, full of garbage."""
    return {
        "valid": 0,
        "tag": int(rng.integers(16)),
        "plane": int(rng.integers(1 << min(63, params.lanes))),
        "weights": wild(rng, 32, params.lanes),
    }


def skewed(params, rows):
    """Return ``rows`` with each lane's weight as many cycles later as the bank wants it."""
    skews = np.array([params.bank.weight_skew(lane) for lane in range(params.lanes)])
    weights = np.array([row["weights"] for row in rows])
    when = np.maximum(np.arange(len(rows))[:, None] - skews, 0)
    late = np.take_along_axis(weights, when, 0)
    return [
        row | {"weights": shown} | pairs(params, shown)
        for row, shown in zip(rows, late, strict=True)
    ]


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(bits=BITS, signed=[False, True], gaps=[0, 0.5], extreme=[False, True])
async def sums_up_a_sample(dut, bits, signed, gaps, extreme):
    params = params_in_simulator(EngineParams)
    rng = generator()
    bits = min(bits, params.max_bits)
    rows, ends, starts, golden = [], [], [], []
    for _ in range(25):
        chunks = int(rng.integers(1, params.chunks, endpoint=True))
        codes = random_codes(rng, bits, signed, (chunks, params.lanes))
        weights = wild(rng, 32, (chunks, params.lanes))
        if extreme:
            chunks = params.chunks
            codes = codes[:1, :1].repeat(chunks, 0).repeat(params.lanes, 1)
            weights = weights[:1, :1].repeat(chunks, 0).repeat(params.lanes, 1)
        golden.append(int((codes.astype(object) * weights).sum()))
        planes = [plane for row in codes for plane in planes_of(row, bits)]
        for index, plane in enumerate(planes):
            while rng.random() < gaps:
                rows.append(gap(rng, params))
            if index == bits - 1:
                starts.append(len(rows))
            rows.append(row_of_plane(index, bits, chunks, signed, plane, weights[index // bits]))
        ends.append(len(rows) - 1)
    await streams.start(dut)
    idle = [gap(rng, params) for _ in range(params.bank.latency + 5)]
    partial = (await play(dut, skewed(params, rows + idle), "partial"))["partial"]
    # Each sum stands until the next sample's first chunk is through.
    until = [*(start + params.bank.latency for start in starts[1:]), len(partial)]
    for end, stop, expected in zip(ends, until, golden, strict=True):
        shown = partial[end + params.bank.latency : stop]
        assert shown
        assert set(shown) == {expected}


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(bits=BITS, signed=[False, True], gaps=[0, 0.5])
async def scales_the_delta(dut, bits, signed, gaps):
    params = params_in_simulator(EngineParams)
    rng = generator()
    bits = min(bits, params.max_bits)
    rows, golden = [], []
    for delta in [-(1 << 31), (1 << 31) - 1, -1, 0, 1, *map(int, wild(rng, 32, 20))]:
        for plane in range(bits):
            row = {"delta": delta, "first_plane": plane == 0, "second_plane": plane == 1}
            while rng.random() < gaps:
                rows.append(gap(rng, params) | row | {"next_plane": 0})
                golden.append(golden[-1] if golden else None)
            rows.append(gap(rng, params) | {"valid": 1} | row | {"next_plane": 1})
            golden.append(delta * plane_weight(plane, signed, params.max_bits))
    await streams.start(dut)
    dut.signed_features.value = signed
    scaled = (await play(dut, [*rows, {"next_plane": 0}], "scaled"))["scaled"][1:]
    known = golden.count(None)
    assert scaled[known:] == golden[known:]
