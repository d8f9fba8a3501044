import cocotb
import numpy as np
import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.loss.sigmoid import Sigmoid
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness import streams
from sim.harness.verilator import params_in_simulator, simulate
from sim.p4sgd.golden.sigmoid import SEGMENT_BITS, SEGMENTS, sigmoid
from tests.hdl.p4sgd.bench import LOW, TOP, generator, play, wild


@pytest.mark.parametrize("fraction_bits", [8, 23, 26])
def test_sigmoid(fraction_bits):
    engine = EngineParams(fraction_bits=fraction_bits)
    simulate(Sigmoid(WorkerParams(engines=1, engine=engine)), __name__)


def inputs(rng, fraction_bits):
    """Return segment ends, their neighbours, midpoints, extremes and random ones, of both signs."""
    segment = 1 << fraction_bits - SEGMENT_BITS
    ends = np.arange(SEGMENTS + 2) * segment
    inside = rng.integers(0, SEGMENTS * segment, 1000)
    positive = [ends, ends + 1, ends - 1, ends + segment // 2, inside, rng.integers(0, TOP, 200)]
    positive = np.concatenate(positive)
    extremes = [LOW, LOW + 1, TOP, 0, -1]
    return np.concatenate([positive, -positive, extremes, wild(rng, 32, 300)]).clip(LOW, TOP)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def equals_the_golden_table(dut):
    fraction_bits = params_in_simulator(WorkerParams).engine.fraction_bits
    rng = generator()
    values = rng.permutation(inputs(rng, fraction_bits))
    rows = [{"x": x} for x in values] + [{}] * Sigmoid.latency
    await streams.start(dut)
    trace = await play(dut, rows, "value", "mirrored")
    item = 1 << fraction_bits
    shown = [
        item - value if mirrored else value
        for value, mirrored in zip(trace["value"], trace["mirrored"], strict=True)
    ]
    assert shown[Sigmoid.latency :] == sigmoid(values, fraction_bits).tolist()
