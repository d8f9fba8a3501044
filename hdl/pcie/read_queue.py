"""Decides whose data is handed on next: reads go in the order of requests."""

from typing import Any

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.fifo import DISTRIBUTED_WORDS, Fifo, FifoParams
from hdl.pcie.params import EPOCH, ReadRequesterParams


def queue_ports(params: ReadRequesterParams) -> dict[str, Any]:
    """Return the ports of a queue of reads, which are the same for both orders."""
    return {
        "stop": In(1),
        "epoch": In(EPOCH),
        "order": In(stream.Signature(params.waiting)),
        "ends": In(params.ends),
        "done": In(params.tags),
        "abandoned": Out(params.of_tag),
        "turns": Out(stream.Signature(params.turn)),
        "busy": Out(1),
    }


class ReadQueue(Component):
    """Emits the reads of ``order`` as ``turns``, in that order, each as soon as it is ``done``.

    A read that is not done when its turn has come is abandoned when two ticks have passed since it
    was sent (``epoch`` counts ticks), or while ``stop`` is high; ``abandoned`` then has its tag for
    a cycle. ``busy`` is high while reads wait.

    Throughput: a read a cycle. Latency: :attr:`latency` from ``ends``, which report an end a cycle
    before ``done``. Stalls: reads wait; there is room for one of each tag.
    """

    latency = 1

    def __init__(self, params: ReadRequesterParams) -> None:
        super().__init__(params, queue_ports(params))

    def build(self, m: Module) -> None:
        params, turn = self.params, self.turns.payload
        m.submodules.waiting = waiting = Fifo(
            FifoParams(
                shape=params.waiting,
                depth=params.tags,
                output_register=params.tags > DISTRIBUTED_WORDS,
                refuses=False,  # a read for each tag, so it is never full
            )
        )
        next_one = waiting.o.payload
        read = Signal(params.waiting, reset_less=True)
        held, done, gone, stopped = Signal(), Signal(), Signal(), Signal()
        free = ~held | (self.turns.valid & self.turns.ready)
        late = self.stop | overdue(self.epoch, read.epoch)
        m.d.comb += [
            waiting.i.payload.eq(self.order.payload),
            waiting.i.valid.eq(self.order.valid),
            self.order.ready.eq(1),
            waiting.o.ready.eq(free),
            self.abandoned.valid.eq(held & ~done & ~gone & late),
            self.abandoned.tag.eq(read.tag),
            self.turns.valid.eq(held & (done | gone)),
            turn.tag.eq(read.tag),
            turn.read.eq(read.read),
            turn.timed_out.eq(gone),
            turn.stopped.eq(stopped),
            self.busy.eq(held | waiting.level.any()),
        ]
        m.d.sync += done.eq(self.is_done(read.tag))
        with m.If(self.abandoned.valid):
            m.d.sync += [gone.eq(1), stopped.eq(self.stop)]
        with m.If(free):
            m.d.sync += [
                read.eq(next_one),
                held.eq(waiting.o.valid),
                done.eq(self.is_done(next_one.tag)),
                gone.eq(0),
            ]

    def is_done(self, tag: Value) -> Value:
        """Return whether a read is done, or will be in the next cycle."""
        now = [end.valid & (end.tag == tag) for end in self.ends]
        return Array(self.done)[tag] | now[0] | now[1]


def overdue(now: Value, sent: Value) -> Value:
    """Return whether the epochs differ by two ticks or three."""
    return now[1] ^ sent[1] ^ (~now[0] & sent[0])
