"""Routes the host's accesses through a group: to one of its engines, or to the next die."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data

from hdl.common.fifo import Fifo
from hdl.common.streams import StreamRegister, forward
from hdl.p4sgd.engine.model_params import ModelParams

PEEKS = 32  #: most peeks that a group has taken and not answered, those for other dies included


@dataclass(frozen=True, kw_only=True)
class Branch:
    """Describes a branch of a group: one of its engines, or all engines of the dies beyond it."""

    part: Any  #: the engine, or the port to the next die
    first: int  #: number of the engine, or of the first one of the next die
    beyond: bool  #: whether the branch is the next die

    def leads_to(self, engine: Value) -> Value:
        """Return whether this branch leads to the engine with that number."""
        return engine >= self.first if self.beyond else engine == self.first


def route_loads(m: Module, near: Any, branches: list[Branch], model: ModelParams) -> None:
    """Send a load to the engine that it names; ``loaded`` says that the engine has taken it."""
    load = near.load
    chosen = [branch.leads_to(load.payload.engine) for branch in branches]
    for branch, is_chosen in zip(branches, chosen, strict=True):
        copy = branch.part.load
        if branch.beyond:
            m.d.comb += copy.payload.eq(load.payload)
        else:
            m.d.comb += [copy.payload[name].eq(load.payload[name]) for name in model.load.members]
        m.d.comb += copy.valid.eq(load.valid & is_chosen)
    taken = [c & branch.part.load.ready for branch, c in zip(branches, chosen, strict=True)]
    this_side = [t for branch, t in zip(branches, taken, strict=True) if not branch.beyond]
    far = [branch.part.loaded for branch in branches if branch.beyond]
    m.d.comb += [
        load.ready.eq(Cat(taken).any()),
        near.loaded.eq((load.valid & Cat(this_side).any()) | Cat(far).any()),
    ]


def route_peeks(m: Module, near: Any, branches: list[Branch], model: ModelParams) -> None:
    """Send a peek to the engine that it names, and answer peeks in the order in which they came.

    A queue holds the numbers of the engines that have to answer. The oldest is in a register, with
    a bit for each branch, since it drives many loads.
    """
    peek, peeked = near.peek, near.peeked
    engine = len(peek.payload.engine)
    m.submodules.order = order = Fifo.sized(
        shape=engine, depth=PEEKS - StreamRegister.capacity, style="distributed"
    )
    turn = data.StructLayout({"engine": engine, "branches": len(branches)})
    m.submodules.oldest = oldest = StreamRegister.sized(shape=turn)
    m.d.comb += forward(
        order.o,
        oldest.i,
        engine=order.o.payload,
        branches=Cat(branch.leads_to(order.o.payload) for branch in branches),
    )
    chosen = [branch.leads_to(peek.payload.engine) for branch in branches]
    answered = []
    for branch, is_chosen, is_due in zip(branches, chosen, oldest.o.payload.branches, strict=True):
        copy, answer = branch.part.peek, branch.part.peeked
        if branch.beyond:
            m.d.comb += copy.payload.engine.eq(peek.payload.engine)
        m.d.comb += [copy.payload[name].eq(peek.payload[name]) for name in model.address.members]
        m.d.comb += copy.valid.eq(peek.valid & order.i.ready & is_chosen)
        m.d.comb += answer.ready.eq(peeked.ready & oldest.o.valid & is_due)
        answered.append(oldest.o.valid & is_due & answer.valid)
        with m.If(is_due):
            weights = answer.payload.group if branch.beyond else answer.payload
            m.d.comb += peeked.payload.group.eq(weights)
    taken = [c & branch.part.peek.ready for branch, c in zip(branches, chosen, strict=True)]
    m.d.comb += [
        order.i.payload.eq(peek.payload.engine),
        order.i.valid.eq(peek.valid & Cat(taken).any()),
        peek.ready.eq(order.i.ready & Cat(taken).any()),
        peeked.payload.engine.eq(oldest.o.payload.engine),
        peeked.valid.eq(Cat(answered).any()),
        oldest.o.ready.eq(peeked.valid & peeked.ready),
    ]
