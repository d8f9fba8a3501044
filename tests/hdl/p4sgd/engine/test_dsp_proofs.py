"""Proves at small sizes that DSP slices add what adder trees add; broken slices are found."""

from dataclasses import replace

import pytest

from hdl.p4sgd.engine.params import EngineParams
from tests.formal.sby import hold
from tests.hdl.p4sgd.engine.dsp_proof import GradientProof, PlaneSumProof
from tests.long import short_and_long
from tests.mutants import mutants_are_detected, mutants_of

SMALL = {"weight_bits": 8, "fraction_bits": 4, "chunks": 2, "fifo_words": 8, "dsp": True}
LANES = [EngineParams(lanes=lanes, **SMALL) for lanes in (1, 3, 8)]
PAIRED = replace(LANES[2], pair_sums=True)
BANKS = [EngineParams(banks=banks, lanes=1, max_bits=1, **SMALL) for banks in (1, 3, 4)]


MUTANTS = mutants_of(
    [PlaneSumProof, GradientProof],
    """
    @hdl.common.dsp48e2; PlaneSumProof; hdl.p4sgd.engine.dsp_cascade.gated_adder
    X takes P; x, y = (gate.replicate(2) => x, y = (Cat(0, gate); slices_sum_what_the_tree_sums
    C without its sign; Value.cast(v).as_signed(), sign_of(v) => Value.cast(v), C(0, 40);
        slices_sum_what_the_tree_sums
    adds where it subtracts; Cat(negate.replicate(2), C(0, 2)) => C(0, 4);
        slices_sum_what_the_tree_sums
    no cascade; 0b001 if cascade_in is not None => 0b000 if cascade_in is not None;
        slices_sum_what_the_tree_sums
    @hdl.common.dsp48e2; GradientProof; hdl.p4sgd.engine.dsp_cascade.gated_adder
    begins at the sum so far; Cat(~accumulation.first, accumulation.first) => C(1, 2);
        slices_add_up_the_same
    adds in bubbles; else accumulation.valid => else C(1, 1); slices_add_up_the_same
    @hdl.p4sgd.engine.dsp_cascade; PlaneSumProof; hdl.p4sgd.engine.plane_sum.DspCascade
    gates in step; k, f"gates_{k}" => 0, f"gates_{k}"; slices_sum_what_the_tree_sums
    signs in step; k, f"negate_{k}" => 0, f"negate_{k}"; slices_sum_what_the_tree_sums
    @hdl.p4sgd.engine.dsp_cascade; GradientProof; hdl.p4sgd.engine.gradient_lane.DspCascade
    counts too late; self.params.slices, "valid" => self.params.slices + 1, "valid";
        slices_add_up_the_same
    @hdl.p4sgd.engine.gradient_lane; GradientProof; GradientLane
    drops a bit of the gradient; exact >> self.params.max_bits =>
        exact >> (self.params.max_bits + self.params.dsp); the_same_gradient
    """,
)
SAMPLES = ["adds where it subtracts", "adds in bubbles"]


@pytest.mark.parametrize(
    "params",
    short_and_long([*LANES, PAIRED], [LANES[1], PAIRED]),
    ids=lambda params: f"{params.lanes} lanes{params.pair_sums * ', paired'}",
)
def test_plane_sums_are_equal(params):
    """All that can happen shows in more cycles than the pipeline, which only feeds forward."""
    hold(PlaneSumProof(params), mode="bmc", depth=params.bank.sum_latency + 2)


@pytest.mark.parametrize(
    "params", short_and_long(BANKS, [BANKS[1]]), ids=lambda params: f"{params.banks} banks"
)
def test_gradients_are_equal(params):
    hold(GradientProof(params), mode="prove", depth=params.gradient.latency + 3)


@pytest.mark.parametrize("proof", [PlaneSumProof(LANES[1]), GradientProof(BANKS[1])])
def test_what_is_compared_happens(proof):
    hold(proof, mode="cover", depth=12)


test_every_claim_finds_broken_slices, test_broken_slices_are_detected = mutants_are_detected(
    MUTANTS, [PlaneSumProof(LANES[1]), GradientProof(BANKS[1])], SAMPLES
)
