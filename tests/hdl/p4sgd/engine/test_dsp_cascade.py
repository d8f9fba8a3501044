import cocotb
import pytest

from hdl.p4sgd.engine.dsp_cascade import CascadeParams, DspCascade, cascade
from sim.harness import streams
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import generator, play, wild

ADDS = [cascade(8, 32), cascade(3, 9), cascade(1, 1)]
ADDS += [cascade(16, 32, paired=True), cascade(5, 9, paired=True), cascade(3, 9, paired=True)]
ACCUMULATES = [
    CascadeParams(inputs=8, bits=41, total_bits=45, start=128),
    CascadeParams(inputs=3, bits=8, total_bits=14, start=1),
]


@pytest.mark.parametrize("params", ADDS + ACCUMULATES, ids=lambda params: params.suffix)
def test_dsp_cascade(params):
    kind = "accumulates" if params in ACCUMULATES else "adds"
    simulate(DspCascade(params), __name__, test_filter=kind)


def skewed(params, rows):
    """Return ``rows`` with each value as many cycles later as the cascade wants it."""
    late = max(params.skew(k) for k in range(params.inputs))
    empty = [0] * params.inputs
    shown = [row | {"values": list(empty)} for row in rows]
    shown += [{"values": list(empty)} for _ in range(late)]
    for i, row in enumerate(rows):
        for k, value in enumerate(row.get("values", empty)):
            shown[i + params.skew(k)]["values"][k] = int(value)
    if params.paired:
        for row in shown:
            row["sums"] = [sum(row["values"][k : k + 2]) for k in range(0, params.inputs, 2)]
    return shown


def gated_sum(row):
    return sum(int(v) for k, v in enumerate(row["values"]) if row["gates"] >> k & 1)


def random_row(rng, params):
    gates = int(rng.choice([0, (1 << params.inputs) - 1, rng.integers(1 << params.inputs)]))
    return {"gates": gates, "values": wild(rng, params.bits, params.inputs)}


@cocotb.test(timeout_time=100, timeout_unit="us")
async def adds_what_is_gated(dut):
    params = params_in_simulator(CascadeParams)
    rng = generator()
    rows = [random_row(rng, params) | {"negate": int(rng.integers(2))} for _ in range(400)]
    extreme = [-(1 << params.bits - 1)] * params.inputs
    rows += [{"gates": (1 << params.inputs) - 1, "values": extreme, "negate": n} for n in (0, 1)]
    golden = [-gated_sum(row) if row["negate"] else gated_sum(row) for row in rows]
    await streams.start(dut)
    idle = [{"gates": 0}] * (params.latency + 1)
    total = (await play(dut, skewed(params, rows + idle), "total"))["total"]
    assert total[params.latency :][: len(golden)] == golden


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(gaps=[0, 0.5])
async def accumulates_from_its_start(dut, gaps):
    params = params_in_simulator(CascadeParams)
    rng = generator()
    rows, golden, so_far = [], [], None
    for _ in range(150):
        for step in range(int(rng.integers(1, 4, endpoint=True))):
            while rng.random() < gaps:
                rows.append(random_row(rng, params) | {"valid": 0, "first": int(rng.integers(2))})
                golden.append(so_far)
            row = random_row(rng, params) | {"valid": 1, "first": int(step == 0)}
            rows.append(row)
            so_far = (so_far if step else params.start) + gated_sum(row)
            golden.append(so_far)
    low, most = -(1 << params.bits - 1), -(1 << params.total_bits - 1)
    so_far, first = params.start, 1
    while so_far > most:  # as far down as it goes
        values = []
        for _ in range(params.inputs):
            values.append(max(low, most - so_far))
            so_far += values[-1]
        everything = (1 << params.inputs) - 1
        rows.append({"gates": everything, "values": values, "valid": 1, "first": first})
        golden.append(so_far)
        first = 0
    await streams.start(dut)
    dut.negate.value = 0
    idle = [{"valid": 0, "first": 1}] * (params.latency + 3)
    total = (await play(dut, skewed(params, rows + idle), "total"))["total"]
    known = golden.count(None)
    assert total[params.latency + known :][: len(golden) - known] == golden[known:]
    assert total[-1] == golden[-1]
