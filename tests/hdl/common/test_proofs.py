"""Proves queues and arbiters at small sizes for all time, and shows that broken RTL is found."""

import pytest

from hdl.common.fifo import FifoParams
from hdl.common.stream_arbiter import StreamArbiterParams
from tests.formal.sby import hold
from tests.hdl.common.arbiter_proof import ArbiterProof
from tests.hdl.common.fifo_proof import FifoProof
from tests.long import short_and_long
from tests.mutants import mutants_are_detected, mutants_of

FIFOS = [
    FifoParams(shape=2, depth=depth, style=style, output_register=register)
    for depth in (3, 4)
    for style, register in (("distributed", False), ("block", False), ("block", True))
]
ARBITERS = [
    StreamArbiterParams(shape=1, count=2),
    StreamArbiterParams(shape=2, count=3),
    StreamArbiterParams(shape=2, count=3, last_bit=1),
    StreamArbiterParams(shape=2, count=4, last_bit=0),
]
INDUCTION = 4  #: cycles
REACHED = 13  #: cycles within which everything has happened
# The sizes of which a mutant is proven: all are found at them, so the others are long.
FIFO = FifoParams(shape=2, depth=3, style="block", output_register=True)
ARBITER = StreamArbiterParams(shape=2, count=3, last_bit=1)


MUTANTS = mutants_of(
    [FifoProof, ArbiterProof],
    """
    @hdl.common.fifo; FifoProof; Fifo
    full one too late; (stored != depth - 1)) => (stored != depth)); full_as_said
    full one too early; (stored != depth - 1)) => (stored != depth - 2)); full_as_said
    full for ever; free.eq(~push | => free.eq(free &; full_as_said
    filled without the first; filled.eq(push | => filled.eq(filled & (stored != 1) |;
        comes_to_the_output
    waits to be asked; leaves = ~valid | self.o.ready => leaves = self.o.ready; comes_to_the_output
    does not wrap; place.eq(0) => place.eq(1); leaves_unchanged_in_its_turn
    reads on while it waits; pop.eq(filled & advance) => pop.eq(filled); none_lost_or_invented
    empty one too late; filled.eq(push | (stored != 1)) => filled.eq(1); none_leaves_from_nothing
    changes while it waits; with m.If(leaves): => with m.If(1):; waits_unchanged
    overlooks the output; Cat(valid, holds) => Cat(0, holds); level_counts
    @hdl.common.stream_arbiter; ArbiterProof; StreamArbiter
    leaves its packet; out.i.ready & ends, ~inside) => out.i.ready, ~inside); goes_on
    leaves a late packet; out.i.ready & ends, ~inside) => out.i.ready & ends, 1); goes_on
    another's index; beat.index.eq(index_of(chosen)) => beat.index.eq(index_of(others));
        leaves_unmixed
    takes without room; turn[k] & out.i.ready => turn[k]; none_lost_or_invented
    never the next; out.i.ready & ends, ~inside) => 0, ~inside); nobody_twice
    none while it is free; out.i.ready & ends, ~inside) => out.i.ready & ends, 0); none_idle_twice
    @hdl.common.round_robin; ArbiterProof; hdl.common.stream_arbiter.next_above
    lowest first; last.rotate_left(1) => 1; nobody_twice
    two at once; result[: len(requesting)] | result[len(requesting) :] => requesting; one_at_a_time
    @hdl.common.streams; ArbiterProof; hdl.common.stream_arbiter.StreamRegister
    forgets the spare; Mux(ready, self.i.payload, spare) => self.i.payload;
        leaves_unchanged_in_its_turn
    overtaken while it waits; m.If(self.o.ready | ~valid) => m.If(1); waits_unchanged
    makes one; ready.eq(1), => ready.eq(ready),; none_leaves_from_nothing
    """,
)
SAMPLES = ["full for ever", "two at once"]


@pytest.mark.parametrize("params", short_and_long(FIFOS, [FIFO]), ids=lambda params: params.suffix)
def test_fifo_keeps_order_for_all_time(params):
    holds_and_happens(FifoProof(params))


@pytest.mark.parametrize(
    "params", short_and_long(ARBITERS, [ARBITER]), ids=lambda params: params.suffix
)
def test_arbiter_is_fair_for_all_time(params):
    holds_and_happens(ArbiterProof(params))


def holds_and_happens(component):
    """Check that what is claimed holds, and that what it is claimed of can happen."""
    for mode, depth in (("prove", INDUCTION), ("cover", REACHED)):
        hold(component, mode=mode, depth=depth)


test_every_claim_finds_broken_rtl, test_broken_rtl_is_detected = mutants_are_detected(
    MUTANTS, [FifoProof(FIFO), ArbiterProof(ARBITER)], SAMPLES
)
