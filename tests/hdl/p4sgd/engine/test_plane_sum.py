import cocotb
import numpy as np

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.plane_sum import PlaneSum
from sim.harness import streams
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import generator, pairs, play, wild
from tests.simulated import simulated

SIZES = [EngineParams(lanes=lanes, dsp=True) for lanes in (7, 64)]
SIZES += [EngineParams(lanes=lanes, dsp=True, pair_sums=True) for lanes in (7, 64)]

test_plane_sum = simulated(PlaneSum, SIZES, __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def sums_every_plane(dut):
    """It takes one per cycle, of either sign: all ones on the most negative weights, and any."""
    params = params_in_simulator(EngineParams)
    rng = generator()
    count, lanes = 300, params.lanes
    bits = rng.integers(2, size=(count, lanes))
    weights = wild(rng, params.weight_bits, (count, lanes))
    negative = rng.integers(2, size=count)
    bits[:2], weights[:2], negative[:2] = 1, -(1 << params.weight_bits - 1), (0, 1)
    sums = np.where(negative, -1, 1) * (bits * weights).sum(axis=1)
    skews = np.array([params.bank.weight_skew(lane) for lane in range(lanes)])
    # Row k shows bits k, and each lane's weight of the row that is its skew earlier.
    shown_rows = np.arange(count + params.bank.sum_latency)[:, None] - skews
    late = np.take_along_axis(weights, shown_rows.clip(0, count - 1), 0)
    rows = [
        {
            "plane": int("".join(map(str, bits[min(k, count - 1)][::-1])), 2),
            "negative": int(negative[min(k, count - 1)]),
            "weights": values,
            **pairs(params, values),
        }
        for k, values in enumerate(late)
    ]
    await streams.start(dut)
    terms = (await play(dut, rows, "terms"))["terms"]
    shown = [sum(pair) for pair in terms[params.bank.sum_latency :]]
    assert shown[:count] == sums.tolist()
