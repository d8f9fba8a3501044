"""Queues and arbiters, proven at small sizes for all time; broken RTL is found."""

import pytest

from hdl.common.fifo import FifoParams
from hdl.common.stream_arbiter import StreamArbiterParams
from sim.formal.arbiter_proof import ArbiterProof
from sim.formal.fifo_proof import FifoProof
from sim.formal.sby import prove
from tests.mutants import broken, chosen, is_found

FIFO, ARBITER, TURNS, STREAMS = "fifo", "stream_arbiter", "round_robin", "streams"
USED_AS = {  # a broken module's class takes the place of
    FIFO: "sim.formal.fifo_proof.Fifo",
    ARBITER: "sim.formal.arbiter_proof.StreamArbiter",
    TURNS: "hdl.common.stream_arbiter.RoundRobin",
    STREAMS: "hdl.common.stream_arbiter.StreamRegister",
}
# What is broken: module, text, what it is replaced by. SAMPLES are tried by the suite, the others
# by `MUTANTS=all pytest` of this file.
MUTANTS = {
    "full one too late": (FIFO, "full.eq(stored == depth - 1)", "full.eq(stored == depth)"),
    "filled without the first": (FIFO, "filled.eq(1)", "filled.eq(stored != 0)"),
    "does not wrap": (FIFO, "address.eq(0)", "address.eq(1)"),
    "reads on while it waits": (
        FIFO,
        "pop.eq(filled & advance), read.en.eq(pop)",
        "pop.eq(filled)",
    ),
    "waits to be asked": (FIFO, "leaves = ~valid | self.o.ready", "leaves = self.o.ready"),
    "leaves its packet": (ARBITER, "out.i.ready & ends, ~inside)", "out.i.ready, ~inside)"),
    "leaves a late packet": (ARBITER, "out.i.ready & ends, ~inside)", "out.i.ready & ends, 1)"),
    "another's index": (ARBITER, "beat.index.eq(index)", "beat.index.eq(turns.index)"),
    "holds too long": (ARBITER, "inside.eq(~ends)", "inside.eq(1)"),
    "takes without room": (ARBITER, "chosen[k] & out.i.ready", "chosen[k]"),
    "goes without room": (ARBITER, "out.i.ready & ends, ~inside)", "ends, ~inside)"),
    "the same again": (ARBITER, "turns.asking.eq(asking & ~chosen)", "turns.asking.eq(asking)"),
    "never the next": (ARBITER, "out.i.ready & ends, ~inside)", "0, ~inside)"),
    "lowest first": (TURNS, "self.asking & above", "self.asking & 0"),
    "not above itself": (TURNS, "self.grant[:k].any() for k", "self.grant[: k + 1].any() for k"),
    "forgets the spare": (STREAMS, "Mux(waiting, spare, self.i.payload)", "self.i.payload"),
}
SAMPLES = ["reads on while it waits", "not above itself"]

FIFOS = [
    FifoParams(width=2, depth=depth, style=style, output_register=register)
    for depth in (3, 4)
    for style, register in (("distributed", False), ("block", False), ("block", True))
]
ARBITERS = [
    StreamArbiterParams(width=1, count=2),
    StreamArbiterParams(width=2, count=3),
    StreamArbiterParams(width=2, count=3, last_bit=1),
    StreamArbiterParams(width=2, count=4, last_bit=0),
]
INDUCTION = 4  #: cycles
REACHED = 12  #: cycles within which everything has happened


@pytest.mark.parametrize("params", FIFOS, ids=lambda params: params.suffix)
def test_fifo_keeps_order_for_all_time(params):
    hold(FifoProof(params))


@pytest.mark.parametrize("params", ARBITERS, ids=lambda params: params.suffix)
def test_arbiter_is_fair_for_all_time(params):
    hold(ArbiterProof(params))


def hold(component):
    """What is claimed holds, and what it is claimed of can happen."""
    for mode, depth in (("prove", INDUCTION), ("cover", REACHED)):
        proof = prove(component, mode=mode, depth=depth)
        assert proof.holds, (mode, proof.failed, proof.log)


@pytest.mark.parametrize("name", chosen(MUTANTS, SAMPLES))
def test_broken_rtl_is_found(name, monkeypatch):
    found, old, new = MUTANTS[name]
    mutant = broken(f"hdl.common.{found}", old, new)
    used = USED_AS[found]
    monkeypatch.setattr(used, getattr(mutant, used.rpartition(".")[2]))
    component = (
        FifoProof(FifoParams(width=2, depth=3, style="block", output_register=True))
        if found == FIFO
        else ArbiterProof(StreamArbiterParams(width=2, count=3, last_bit=1))
    )
    proof = prove(component, mode="bmc", depth=REACHED)
    is_found(name, proof)
