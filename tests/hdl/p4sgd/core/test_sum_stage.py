import cocotb
import pytest

from hdl.p4sgd.core.sum_stage import SumStage, SumStageParams
from sim.harness import streams
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.upset import start_upset
from tests.hdl.p4sgd.bench import generator, wild
from tests.rejects import refuses


@pytest.mark.parametrize(("terms", "bits"), [((58, 58), 59), ((58, 58, 60), 61), ((9, 8, 8), 10)])
def test_sum_stage(terms, bits):
    simulate(SumStage(SumStageParams(values=2, terms=terms, bits=bits)), __name__)


test_rejects = refuses(
    lambda terms, bits: SumStageParams(values=1, terms=terms, bits=bits),
    ((8,), 8, "two or three terms: 1"),
    ((8,) * 4, 10, "two or three terms: 4"),
    ((8, 9), 8, "bits must hold the widest term: 8 for 9 bits"),
)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=streams.STALLS)
async def adds_exactly(dut, stalls):
    """Terms that fit the sum come apart, the extremes of every term among them."""
    params = params_in_simulator(SumStageParams)
    rng = generator()
    columns = [wild(rng, bits, (150, params.values)).tolist() for bits in params.terms]
    for bits, column in zip(params.terms, columns, strict=True):
        half = 1 << bits - 2  # two full terms and one of four times their size would not fit
        column[:2] = [[-half] * params.values, [half - 1] * params.values]
        column[2] = [-2 * half] * params.values
    limit = 1 << params.bits - 1
    beats = [
        beat
        for beat in zip(*columns, strict=True)
        if all(-limit <= sum(values) < limit for values in zip(*beat, strict=True))
    ]
    assert len(beats) > 75
    source, sink = stalls
    await start_upset(dut)
    terms = [streams.Source(dut, f"i_{k}", stall=source) for k in range(len(params.terms))]
    for beat in beats:
        for term, values in zip(terms, beat, strict=True):
            term.append(values)
    shown, taken = await streams.receive(dut, "o", len(beats), sink)
    assert shown == [[sum(values) for values in zip(*beat, strict=True)] for beat in beats]
    assert all(term.cycles == terms[0].cycles for term in terms)
    if stalls.none:
        assert taken == [when + SumStage.latency for when in terms[0].cycles]
        assert taken == list(range(taken[0], taken[0] + len(beats)))
