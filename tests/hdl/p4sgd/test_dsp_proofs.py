"""DSP slices add what adder trees add: proven at small sizes; broken slices are found."""

import pytest

from hdl.p4sgd.params import EngineParams
from sim.formal.dsp_proof import GradientProof, PlaneSumProof
from sim.formal.sby import prove
from tests.mutants import broken, chosen, is_found

SMALL = {"weight_bits": 8, "fraction_bits": 4, "chunks": 2, "fifo_words": 8, "dsp": True}
LANES = [EngineParams(lanes=lanes, **SMALL) for lanes in (1, 3, 8)]
BANKS = [EngineParams(banks=banks, lanes=1, max_bits=1, **SMALL) for banks in (1, 3, 4)]

SLICE, CASCADE = "hdl.common.dsp48e2", "hdl.p4sgd.dsp_cascade"
# What is broken: module, text, what it is replaced by. SAMPLES are tried by the suite, the others
# by `MUTANTS=all pytest` of this file.
MUTANTS = {
    "X takes P": (SLICE, "x, y = (gate.replicate(2)", "x, y = (Cat(0, gate)"),
    "C without its sign": (
        SLICE,
        "Value.cast(v).as_signed(), sign_of(v)",
        "Value.cast(v), C(0, 40)",
    ),
    "adds where it subtracts": (SLICE, "Cat(negate.replicate(2), C(0, 2))", "C(0, 4)"),
    "no cascade": (SLICE, "0b001 if cascade_in is not None", "0b000 if cascade_in is not None"),
    "begins at the sum so far": (SLICE, "Cat(~accumulation.first, accumulation.first)", "C(1, 2)"),
    "adds in bubbles": (SLICE, "else accumulation.valid", "else C(1, 1)"),
    "gates in step": (CASCADE, 'k, f"gates_{k}"', '0, f"gates_{k}"'),
    "signs in step": (CASCADE, 'k, f"negate_{k}"', '0, f"negate_{k}"'),
    "counts too late": (CASCADE, 'self.params.slices, "valid"', 'self.params.slices + 1, "valid"'),
}
SAMPLES = ["adds where it subtracts", "adds in bubbles", "gates in step"]


def prove_plane_sum(params):
    return prove(PlaneSumProof(params), mode="bmc", depth=params.sum_latency + 2)


def prove_gradient(params, mode="prove"):
    return prove(GradientProof(params), mode=mode, depth=params.gradient_latency + 3)


@pytest.mark.parametrize("params", LANES, ids=lambda params: f"{params.lanes} lanes")
def test_plane_sums_are_equal(params):
    """Feed-forward: more cycles than the pipeline is long show all that can happen."""
    assert prove_plane_sum(params).holds


@pytest.mark.parametrize("params", BANKS, ids=lambda params: f"{params.banks} banks")
def test_gradients_are_equal(params):
    assert prove_gradient(params).holds


@pytest.mark.parametrize("proof", [PlaneSumProof(LANES[1]), GradientProof(BANKS[1])])
def test_what_is_compared_happens(proof):
    assert prove(proof, mode="cover", depth=12).holds


@pytest.mark.parametrize("name", chosen(MUTANTS, SAMPLES))
def test_broken_slices_are_found(name, monkeypatch):
    module, old, new = MUTANTS[name]
    mutant = broken(module, old, new)
    if module == SLICE:
        monkeypatch.setattr(f"{CASCADE}.gated_adder", mutant.gated_adder)
    else:
        for user in ("plane_sum", "gradient_lane"):
            monkeypatch.setattr(f"hdl.p4sgd.{user}.DspCascade", mutant.DspCascade)
    proofs = prove_plane_sum(LANES[1]), prove_gradient(BANKS[1], "bmc")
    is_found(name, next((proof for proof in proofs if not proof.holds), proofs[0]))
