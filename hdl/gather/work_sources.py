"""Takes work requests of registers and of a ring in turn."""

from amaranth.hdl import Module, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.stream_arbiter import StreamArbiter, StreamArbiterParams
from hdl.gather.engine_params import WORK, GatherEngineParams


class WorkSources(Component):
    """``work`` are the requests that were ``submitted`` and those ``fetched`` from a ring, if any.

    Those that were submitted wait in a queue, and those that were fetched where they come from.
    Each source keeps its order; while both have some they take turns, so neither waits for more
    than one request of the other. ``waits``: there is one that was not taken.

    Throughput: a request a cycle. Latency: a cycle from ``submitted`` to ``work``; with a ring two,
    and one from ``fetched``.
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
            m.d.comb += self.waits.eq(queue.o.valid | self.take_turns(m, queue))
        else:
            connect(m, queue.o, flipped(self.work))
            m.d.comb += self.waits.eq(queue.o.valid)
        return m

    def take_turns(self, m: Module, queue: Fifo) -> Value:
        """Let both sources go in turn; return whether one waits behind the queue."""
        m.submodules.arbiter = arbiter = StreamArbiter(
            StreamArbiterParams(width=WORK.size, count=2)
        )
        connect(m, queue.o, arbiter.i[0])
        m.d.comb += [
            arbiter.i[1].payload.eq(self.fetched.payload),
            arbiter.i[1].valid.eq(self.fetched.valid),
            self.fetched.ready.eq(arbiter.i[1].ready),
            self.work.payload.eq(arbiter.o.payload.payload),
            self.work.valid.eq(arbiter.o.valid),
            arbiter.o.ready.eq(self.work.ready),
        ]
        return self.fetched.valid | arbiter.o.valid
