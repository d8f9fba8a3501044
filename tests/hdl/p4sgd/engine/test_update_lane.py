import cocotb

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.update_lane import UpdateLane
from sim.golden.arithmetic import round_shift, saturate
from sim.harness import streams
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import generator, play, wild
from tests.simulated import simulated

SIZES = [
    EngineParams(),
    EngineParams(l2=True),
    EngineParams(data_parallel=True),
    EngineParams(banks=1, weight_bits=20, fraction_bits=12, max_bits=3, l2=True),
]

test_update_lane = simulated(UpdateLane, SIZES, __name__)


def cases(rng, params, decaying):
    """Return weights, gradients and what becomes of them: updated, kept, or the host's."""
    bits, gradient_bits = params.weight_bits, params.gradient.bits - params.max_bits
    low, top = -(1 << bits - 1), (1 << bits - 1) - 1
    ends = [(weight, gradient) for weight in (low, top) for gradient in (-1, 0, 1, low, top)]
    count = 200
    pairs = zip(wild(rng, bits, count), wild(rng, gradient_bits, count), strict=True)
    for weight, gradient in [*ends, *pairs]:
        keep = rng.random() < 0.2
        yield {
            "weight": weight,
            "gradient": gradient,
            "keep": keep,
            "decaying": decaying and not keep and rng.random() < 0.5,
            "from_zero": not keep and rng.random() < 0.3,
            "replace": keep and rng.random() < 0.5,
            "host_weight": wild(rng, bits, ())[()],
        }


def expected(case, params, l2_shift):
    """Return weight and saturation after the update."""
    if case["replace"]:
        return case["host_weight"], False
    if case["keep"]:
        return case["weight"], False
    decay = round_shift(case["weight"], l2_shift) if case["decaying"] and l2_shift else 0
    weight = 0 if case["from_zero"] and params.data_parallel else case["weight"]
    result, saturated = saturate(weight - case["gradient"] - decay, params.weight_bits)
    return int(result), bool(saturated)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(l2_shift=[0, *range(4, 24)])
async def steps_and_saturates(dut, l2_shift):
    params = params_in_simulator(EngineParams)
    rng = generator()
    everything = list(cases(rng, params, params.l2))
    # Each input in its own cycle; the gradient of case i stands in cycle lead + i.
    lead = params.update_lead
    offsets = dict.fromkeys(("gradient", "keep", "decaying", "from_zero"), lead) | {"weight": 0}
    offsets |= {"replace": lead + 1, "host_weight": lead + 1}
    rows = [{} for _ in range(len(everything) + lead + UpdateLane.latency)]
    for i, case in enumerate(everything):
        for name, offset in offsets.items():
            rows[i + offset][name] = case[name]
    await streams.start(dut)
    dut.l2_shift.value = l2_shift
    trace = await play(dut, rows, "result", "saturated")
    first = lead + UpdateLane.latency
    golden = [expected(case, params, l2_shift) for case in everything]
    shown = list(zip(trace["result"][first:], trace["saturated"][first:], strict=True))
    assert shown == golden
    assert {saturated for _, saturated in golden} == {False, True}
