"""Takes work requests from registers and from a ring in turn."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.gather.engine_params import WORK, GatherEngineParams


class WorkSources(Component):
    """Merges requests ``submitted`` by registers and those ``fetched`` from a ring into ``work``.

    Requests that were submitted wait in a queue here; ``fetched`` exists if the build has a ring,
    and its requests wait at their source. Each source keeps its order; while both have requests
    they take turns, so none waits for more than one request of the other source. ``waits`` is high
    while a request has not been taken.

    Throughput: a request a cycle. Latency: a cycle from ``submitted`` to ``work``, none from
    ``fetched``; a cycle more if the request before came from the other source.
    """

    def __init__(self, params: GatherEngineParams) -> None:
        requests = stream.Signature(WORK)
        super().__init__(
            params,
            submitted=In(requests),
            **({"fetched": In(requests)} if params.descriptors else {}),
            work=Out(requests),
            waits=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.queue = queue = Fifo.sized(
            shape=WORK, depth=self.params.requests, style="distributed"
        )
        connect(m, flipped(self.submitted), queue.i)
        if self.params.descriptors:
            self.take_turns(m, queue)
        else:
            connect(m, queue.o, flipped(self.work))
            m.d.comb += self.waits.eq(queue.o.valid)

    def take_turns(self, m: Module, queue: Fifo) -> None:
        """Let both sources take turns; the choice is made a cycle ahead."""
        by_ring = Signal()  # whether the ring's request is offered, not the queue's
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
