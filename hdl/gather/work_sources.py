"""Takes work requests of registers and of a ring in turn."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.gather.engine_params import WORK, GatherEngineParams


class WorkSources(Component):
    """``work`` are the requests that were ``submitted`` and those ``fetched`` from a ring, if any.

    Those that were submitted wait in a queue, and those that were fetched where they come from.
    Each source keeps its order; while both have some they take turns, so neither waits for more
    than one request of the other. ``waits``: there is one that was not taken.

    Throughput: a request a cycle. Latency: a cycle from ``submitted`` to ``work``, none from
    ``fetched``; a cycle more where the other source was the last to have one.
    """

    def __init__(self, params: GatherEngineParams) -> None:
        requests = stream.Signature(WORK)
        super().__init__(
            params,
            {
                "submitted": In(requests),
                **({"fetched": In(requests)} if params.descriptors else {}),
                "work": Out(requests),
                "waits": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.queue = queue = Fifo(
            FifoParams(width=WORK.size, depth=self.params.requests, style="distributed")
        )
        connect(m, flipped(self.submitted), queue.i)
        if self.params.descriptors:
            self.take_turns(m, queue)
        else:
            connect(m, queue.o, flipped(self.work))
            m.d.comb += self.waits.eq(queue.o.valid)
        return m

    def take_turns(self, m: Module, queue: Fifo) -> None:
        """Let both sources go in turn, by a choice that is made a cycle ahead."""
        by_ring = Signal()  # else the queue's is offered
        offered, other = Signal(), Signal()
        m.d.comb += [
            offered.eq(Mux(by_ring, self.fetched.valid, queue.o.valid)),
            other.eq(Mux(by_ring, queue.o.valid, self.fetched.valid)),
            self.work.valid.eq(offered),
            self.work.payload.eq(Mux(by_ring, self.fetched.payload, queue.o.payload)),
            self.fetched.ready.eq(self.work.ready & by_ring),
            queue.o.ready.eq(self.work.ready & ~by_ring),
            self.waits.eq(offered | other),
        ]
        with m.If(other & (self.work.ready | ~offered)):
            m.d.sync += by_ring.eq(~by_ring)
