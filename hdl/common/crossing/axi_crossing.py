"""Transfers AXI from a clock whose reset comes alone to another: a bus of either kind."""

from amaranth.hdl import Cat, DomainRenamer, Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi_guard import CHANNELS, AxiGuard, AxiGuardParams, beat_of
from hdl.common.component import Component
from hdl.common.crossing.async_fifo import AsyncFifo, AsyncFifoParams
from hdl.common.crossing.crossing import inside

DEPTH = 32  #: beats of a channel on their way, more than a way there and back takes


class AxiCrossing(Component):
    """Passes AXI from ``i`` in clock domain ``manager`` to ``o`` in ``sync``.

    A reset of ``manager`` forgets all that is under way at ``i``. At ``o`` it ends as an
    :class:`hdl.common.axi_guard.AxiGuard` says: no burst is cut short, and no response to an access
    from before the reset comes after it. A reset of ``sync`` must be one of all that is behind
    ``o``.

    Each channel has an :class:`AsyncFifo`. Throughput: a beat a cycle of the slower clock on each
    channel, as far as the guard lets that many be under way. Latency: that of an
    :class:`AsyncFifo`, with a cycle of ``sync`` more on AW, W and AR.
    """

    domains = ("manager", "sync")

    def __init__(self, params: AxiGuardParams) -> None:
        bus = params.axi.create()
        self.queues = {
            channel: AsyncFifoParams(shape=len(beat_of(bus, channel)), depth=DEPTH)
            for channel in CHANNELS
        }
        self.crossings = tuple(
            crossing
            for channel, size in self.queues.items()
            for crossing in inside(channel, AsyncFifo(size).crossings, clocks(channel))
        )
        super().__init__(params, i=In(params.axi), o=Out(params.axi))

    def build(self, m: Module) -> None:
        m.submodules.guard = guard = AxiGuard(self.params)
        runs = []
        for channel, size in self.queues.items():
            forward = CHANNELS[channel]
            fifo = AsyncFifo(size)
            m.submodules[channel] = DomainRenamer(clocks(channel))(fifo)
            source, sink = (self.i, guard.i) if forward else (guard.i, self.i)
            m.d.comb += [
                fifo.i.payload.eq(beat_of(source, channel)),
                fifo.i.valid.eq(getattr(source, f"{channel}valid")),
                getattr(source, f"{channel}ready").eq(fifo.i.ready),
                beat_of(sink, channel).eq(fifo.o.payload),
                getattr(sink, f"{channel}valid").eq(fifo.o.valid),
                fifo.o.ready.eq(getattr(sink, f"{channel}ready")),
            ]
            runs.append(fifo.read_runs if forward else fifo.write_runs)
        cut = Signal(init=1)
        m.d.sync += cut.eq(~Cat(runs).all())
        m.d.comb += guard.cut.eq(cut)
        connect(m, guard.o, flipped(self.o))


def clocks(channel: str) -> dict[str, str]:
    """Return the clock domains of a channel's queue."""
    near, far = ("write", "read") if CHANNELS[channel] else ("read", "write")
    return {near: "manager", far: "sync"}
