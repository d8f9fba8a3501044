"""Tracks the open idxs and the failures of each of the commands under way."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.netsparse.rig.params import Cause, RigParams

OPEN_BITS = 10  #: width of a number of idxs, for more than a client can hold
#: Lists the failures that are possible in a cycle, by their causes.
SOURCES = (
    Cause.RANGE,
    Cause.IDX_READ,
    Cause.PROPERTY_WRITE,
    Cause.FILTER,
    Cause.FILTER,
    Cause.REMOTE,
)
OTHER_MOVES = 2  #: other movements: a PR is generated, its response has come
SETTLED = 4  #: idxs that may end in a cycle: checked, coalesced, filtered, released


class CommandTally(Component):
    """Reports for each slot if an idx is ``open``, if anything ``failed``, and the first ``cause``.

    An idx of a slot is open from ``consumed`` until it is ``settled``. If a slot has several
    ``failures`` (:data:`SOURCES`) in a cycle, the one with the lowest number counts. ``clear``
    resets everything. Latency: one cycle. ``moves`` says in the same cycle that an idx of
    ``oldest`` is consumed, settled or otherwise ``moved``.
    """

    latency = 1

    def __init__(self, params: RigParams) -> None:
        super().__init__(
            params,
            consumed=In(params.of_slot),
            settled=In(params.of_slot).array(SETTLED),
            failures=In(params.of_slot).array(len(SOURCES)),
            clear=In(1),
            moved=In(params.of_slot).array(OTHER_MOVES),
            oldest=In(params.slot_bits),
            open=Out(params.commands),
            failed=Out(params.commands),
            cause=Out(Cause).array(params.commands),
            moves=Out(1),
        )

    def build(self, m: Module) -> None:
        moved = [self.consumed, *self.settled, *self.moved]
        m.d.comb += self.moves.eq(
            Cat(item.valid & (item.slot == self.oldest) for item in moved).any()
        )
        for k in range(self.params.commands):
            count = Signal(OPEN_BITS, name=f"count_{k}")
            after = Signal(OPEN_BITS, name=f"after_{k}")
            taken = Signal(name=f"taken_{k}")
            less = Signal(range(SETTLED + 1), name=f"less_{k}")
            hits = [item.valid & (item.slot == k) for item in self.failures]
            first = Value.cast(SOURCES[-1])
            for hit, cause in reversed(list(zip(hits, SOURCES, strict=True))[:-1]):
                first = Mux(hit, cause, first)
            m.d.comb += [
                less.eq(count_ones([item.valid & (item.slot == k) for item in self.settled])),
                taken.eq(self.consumed.valid & (self.consumed.slot == k)),
                after.eq((count + taken - less)[:OPEN_BITS]),
                self.open[k].eq(count != 0),
            ]
            m.d.sync += count.eq(after)
            with m.If(Cat(hits).any() & ~self.failed[k]):
                m.d.sync += [self.failed[k].eq(1), self.cause[k].eq(first)]
            with m.If(self.clear):
                m.d.sync += [count.eq(0), self.failed[k].eq(0)]
