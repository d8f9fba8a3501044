import cocotb
import numpy as np
import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.loss.loss_lane import LossLane
from hdl.p4sgd.worker_params import Loss, WorkerParams
from sim.golden.arithmetic import MANTISSA_BITS, Step
from sim.harness import streams
from sim.harness.verilator import params_in_simulator, simulate
from sim.p4sgd.golden import sgd as golden
from tests.hdl.p4sgd.bench import LOW, TOP, generator, play, put, wild

LARGEST = (1 << MANTISSA_BITS) - 1
OUTPUTS = ("delta", "derivative_saturated", "delta_saturated")


@pytest.mark.parametrize("fraction_bits", [8, 23, 26])
def test_loss_lane(fraction_bits):
    engine = EngineParams(fraction_bits=fraction_bits)
    simulate(LossLane(WorkerParams(engines=1, engine=engine)), __name__)


def latency_of(loss):
    return LossLane.logistic_latency if loss is Loss.LOGISTIC else LossLane.latency


def expected(loss, activations, labels, step, fraction_bits):
    """Return deltas and what saturated, from the golden model."""
    name = golden.Loss[loss.name]
    derivative, derivative_mask = golden.derivative(name, activations, labels, fraction_bits)
    delta, delta_mask = golden.delta(derivative, step)
    return [values.tolist() for values in (delta, derivative_mask, delta_mask)]


def pairs(rng, fraction_bits, count):
    """Return activations and labels: extremes against each other, the hinge's edges, and any."""
    item = 1 << fraction_bits
    special = [LOW, LOW + 1, -item - 1, -item, 1 - item, -1, 0, 1, item - 1, item, item + 1, TOP]
    grid = np.array([(x, y) for x in special for y in special]).T
    scales = rng.integers(1, 33, count)
    activations = [int(wild(rng, int(bits), ())) for bits in scales]
    return np.hstack([grid, [activations, wild(rng, 32, count)]])


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(loss=list(Loss))
async def equals_the_golden_loss(dut, loss):
    fraction_bits = params_in_simulator(WorkerParams).engine.fraction_bits
    rng = generator()
    await streams.start(dut)
    for exponent in range(1, 64):
        mantissa = int(rng.choice([1, LARGEST, rng.integers(1, LARGEST)]))
        put(dut, settings={"loss": loss, "mantissa": mantissa, "exponent": exponent})
        activations, labels = pairs(rng, fraction_bits, 40)
        rows = [{"activation": x, "label": y} for x, y in zip(activations, labels, strict=True)]
        latency = latency_of(loss)
        trace = await play(dut, rows + [{}] * latency, *OUTPUTS)
        shown = [trace[name][latency:] for name in OUTPUTS]
        step = Step(mantissa, exponent)
        assert shown == expected(loss, activations, labels, step, fraction_bits)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def takes_negative_steps(dut):
    """The host cannot set them, but the mantissa is wide enough."""
    rng = generator()
    await streams.start(dut)
    for mantissa in (-LARGEST - 1, -3):
        put(dut, settings={"loss": Loss.LINEAR, "mantissa": mantissa, "exponent": 16})
        derivatives = [LOW, TOP, *map(int, wild(rng, 32, 50))]
        rows = [{"activation": x, "label": 0} for x in derivatives]
        rows += [{}] * LossLane.latency
        trace = await play(dut, rows, "delta")
        exact = [(d * mantissa + (1 << 15)) >> 16 for d in derivatives]
        assert trace["delta"][LossLane.latency :] == [min(max(d, LOW), TOP) for d in exact]
