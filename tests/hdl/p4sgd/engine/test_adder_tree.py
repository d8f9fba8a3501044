import cocotb
import pytest

from hdl.p4sgd.engine.adder_tree import GatedAdderTree, TreeParams
from sim.harness import streams
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import generator, play, wild
from tests.long import short_and_long

LATENCIES = {1: 1, 2: 1, 3: 2, 5: 2, 64: 5}  # a level of two-input adders, then of three-input


@pytest.mark.parametrize("inputs", short_and_long(LATENCIES, [1, 5, 64]))
def test_adder_tree(inputs):
    simulate(GatedAdderTree(TreeParams(inputs=inputs, bits=32)), __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def adds_what_is_gated(dut):
    params = params_in_simulator(TreeParams)
    rng = generator()
    assert params.latency == LATENCIES[params.inputs]
    low, top = -(1 << params.bits - 1), (1 << params.bits - 1) - 1
    ones = (1 << params.inputs) - 1
    rows = [
        {"gates": gates, "values": [value] * params.inputs}
        for value in (low, top, -1, 0)
        for gates in (ones, 0, 1, 1 << params.inputs - 1)
    ]
    rows += [
        {
            "gates": int(rng.integers(1 << 63)) & ones,
            "values": wild(rng, params.bits, params.inputs),
        }
        for _ in range(300)
    ]
    rows += [{"gates": ones, "values": wild(rng, params.bits, params.inputs)} for _ in range(100)]
    await streams.start(dut)
    trace = await play(dut, rows + [{}] * params.latency, "total")
    golden = [
        sum(int(value) for i, value in enumerate(row["values"]) if row["gates"] >> i & 1)
        for row in rows
    ]
    assert trace["total"][params.latency :] == golden
