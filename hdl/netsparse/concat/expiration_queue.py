"""Implements the EQ, which holds the times at which queues' packets expire."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import DISTRIBUTED_WORDS, Fifo, FifoParams
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams


class ExpirationQueue(Component):
    """Queues the expiration times of packets in the order of opening (NetSparse, section 6.1.2).

    ``opens`` enters the queue ``entering`` with the time ``delay`` cycles from now; the queue's
    packet stores ``entry``. For the queue ``oldest`` of the oldest entry the user answers in the
    same cycle whether it is ``open``, and which entry its packet has stored (``entered``). If that
    is another one, or the queue is closed, the entry is stale, and is removed in a cycle without
    effect. ``expires`` says that the packet of ``expired`` must be marked in this cycle: its time
    has come, or there is one of the two reasons to ``force`` it. With ``follows``, ``oldest``
    becomes ``expired`` in the next cycle.

    Throughput: one entry in and one out every cycle. ``ready`` depends on registers only; it is
    never low while times are at most ``most_delay``. An entry's ``expires`` comes at most
    :attr:`lateness` cycles after its time, if no earlier entry is late.
    """

    def __init__(self, params: ConcatenatorParams) -> None:
        self.sizes = FifoParams(
            shape=params.expiration,
            depth=params.expirations,
            output_register=params.expirations > DISTRIBUTED_WORDS,
        )
        self.lateness = self.sizes.latency + 1
        super().__init__(
            params,
            delay=In(params.delay_bits),
            opens=In(1),
            entering=In(params.queue_bits),
            entry=Out(params.entry_bits),
            ready=Out(1),
            oldest=Out(params.queue_bits),
            open=In(1),
            entered=In(params.entry_bits),
            follows=Out(1),
            closes=In(1),
            closed=In(params.queue_bits),
            force=In(2),
            expires=Out(1),
            expired=Out(params.queue_bits),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.fifo = fifo = Fifo(self.sizes)
        now = Signal(params.time_bits)
        pushed = Signal(params.entry_bits)
        popped = Signal(params.entry_bits)  # the index of the entry at the fifo's output
        m.d.sync += now.eq(now + 1)
        with m.If(self.opens):
            m.d.sync += pushed.eq(pushed + 1)
        newest, oldest = fifo.i.payload, fifo.o.payload
        m.d.comb += [
            self.entry.eq(pushed),
            self.ready.eq(fifo.i.ready),
            fifo.i.valid.eq(self.opens),
            newest.queue.eq(self.entering),
            newest.time.eq((now + self.delay)[: params.time_bits]),
            self.oldest.eq(oldest.queue),
        ]
        valid = Signal()
        queue = Signal(params.queue_bits, reset_less=True)
        time = Signal(params.time_bits, reset_less=True)
        fresh = Signal()
        due = Signal()
        now_due = due | self.force.any()
        m.d.comb += [
            self.expires.eq(valid & fresh & now_due),
            self.expired.eq(queue),
            self.follows.eq(~valid | ~fresh | now_due),
            fifo.o.ready.eq(self.follows),
        ]
        gone = Signal()  # a packet closed in this cycle is seen only in the next one
        m.d.comb += gone.eq(
            self.closes & Mux(self.follows, self.closed == oldest.queue, self.closed == queue)
        )
        past = Signal(params.time_bits)  # cycles since the time; from half the range on: until it
        m.d.comb += past.eq(now - Mux(self.follows, oldest.time, time))
        m.d.sync += due.eq(~past[-1])
        with m.If(self.follows):
            m.d.sync += [
                valid.eq(fifo.o.valid),
                queue.eq(oldest.queue),
                time.eq(oldest.time),
                fresh.eq(self.open & (self.entered == popped) & ~gone),
            ]
            with m.If(fifo.o.valid):
                m.d.sync += popped.eq(popped + 1)
        with m.Elif(gone):
            m.d.sync += fresh.eq(0)
        busy = valid | (pushed != popped) | self.opens
        expect(
            m,
            self,
            delay_of_the_hardware=lambda: ~busy | (self.delay <= params.most_delay),
            delay_changes_while_empty=lambda: self.changes_while_empty(m, busy),
        )

    def changes_while_empty(self, m: Module, busy: Value) -> Value:
        """Return whether ``delay`` changes only while it is empty, so that entries are in order."""
        before = Signal.like(self.delay)
        was_busy = Signal()
        m.d.sync += [before.eq(self.delay), was_busy.eq(busy)]
        return ~(was_busy & busy) | (self.delay == before)
