import pytest

from hdl.p4sgd.core.sum_stage import SumStage, SumStageParams
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.contracts import contracts
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


def draw(count):
    """Draw terms whose sum fits, the extremes of every term among them."""
    params, rng = params_in_simulator(SumStageParams), generator()
    limit, beats = 1 << params.bits - 1, []
    halves = [1 << bits - 2 for bits in params.terms]  # two full terms, and one of four times
    for extreme in (-1, -2, 1):  # their size, would not fit
        ends = [extreme * half - (extreme > 0) for half in halves]
        beats.append([[end] * params.values for end in ends])
    while len(beats) < count:
        beats.append([wild(rng, bits, params.values).tolist() for bits in params.terms])
    beats = [beat for beat in beats if all(-limit <= n < limit for n in total(beat))][:count]
    beats += beats[:1] * (count - len(beats))
    terms = {f"i_{k}": [beat[k] for beat in beats] for k in range(len(params.terms))}
    return terms, [total(beat) for beat in beats]


def total(beat):
    return [sum(values) for values in zip(*beat, strict=True)]


keeps_order, takes_its_latency, a_reset_empties_it = contracts(__name__, draw, joined=True)
