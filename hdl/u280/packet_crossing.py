"""Takes packets from one clock to another; a reset of either may cut them, but not mix them."""

from typing import Any

from amaranth.hdl import DomainRenamer, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.crossing.async_fifo import AsyncFifo, AsyncFifoParams
from hdl.common.crossing.crossing import inside
from hdl.common.packets import BEAT

CROSSING = AsyncFifoParams(shape=BEAT)


class PacketCrossing(Component):
    """Takes BEATs through an :class:`AsyncFifo`, which after a reset goes on at a packet's start.

    When the reader was reset, the rest of a packet that had begun to come in is taken and dropped
    at ``i``: ``dropped`` is high for a cycle. When the writer was reset, a packet that had begun to
    go out is ended at ``o`` by a last beat of which the first byte is not kept, as no packet of
    ours ends. ``entered`` and ``left`` are high when the last beat of a whole packet moves, at
    either end; ``write_runs`` and ``read_runs`` are the crossing's. Throughput, latency, stalls:
    the crossing's.
    """

    domains = ("write", "read")

    def __init__(self, params: None = None) -> None:
        self.crossings = inside("beats", AsyncFifo(CROSSING).crossings, {})
        super().__init__(
            params,
            i=In(stream.Signature(BEAT.size)),
            o=Out(stream.Signature(BEAT.size)),
            dropped=Out(1),
            entered=Out(1),
            left=Out(1),
            write_runs=Out(1),
            read_runs=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.beats = beats = AsyncFifo(CROSSING)
        m.submodules.rest = rest = DomainRenamer("write")(RestOfPacket())
        m.submodules.end = end = DomainRenamer("read")(EndOfPacket())
        connect(m, flipped(self.i), rest.i)
        connect(m, rest.o, beats.i)
        connect(m, beats.o, end.i)
        connect(m, end.o, flipped(self.o))
        m.d.comb += [
            rest.runs.eq(beats.write_runs),
            end.runs.eq(beats.read_runs),
            self.dropped.eq(rest.dropped),
            self.entered.eq(ends(beats.i)),
            self.left.eq(ends(self.o)),
            self.write_runs.eq(beats.write_runs),
            self.read_runs.eq(beats.read_runs),
        ]


def ends(beats: Any) -> Value:
    """Return whether the last beat of a whole packet moves."""
    beat = BEAT(beats.payload)
    return beats.valid & beats.ready & beat.last & beat.keep[0]


class RestOfPacket(Component):
    """Passes packets of ``i`` to ``o``; when ``runs`` falls inside one, its rest is dropped.

    ``o.ready`` is low while ``runs`` is. ``dropped`` is high in the cycle behind its last beat's.
    Throughput: a beat a cycle. Latency: none, ``o`` is ``i``. Stalls: those of ``o``.
    """

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            i=In(stream.Signature(BEAT.size)),
            o=Out(stream.Signature(BEAT.size)),
            runs=In(1),
            dropped=Out(1),
        )

    def build(self, m: Module) -> None:
        begun = Signal()  # a packet has begun and not ended
        drops = Signal()
        last = BEAT(self.i.payload).last
        m.d.comb += [
            self.o.payload.eq(self.i.payload),
            self.o.valid.eq(self.i.valid & ~drops),
            self.i.ready.eq(self.o.ready | drops),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += begun.eq(~last)
        with m.If(drops):
            m.d.sync += drops.eq(~(self.i.valid & last))
        with m.Else():
            m.d.sync += drops.eq(begun & ~self.runs)
        m.d.sync += self.dropped.eq(drops & self.i.valid & last)


class EndOfPacket(Component):
    """Passes packets of ``i`` to ``o``; when ``runs`` falls inside one, a beat of our own ends it.

    ``i.valid`` is low from the cycle after ``runs`` falls to the one after it rises. The beat is a
    last one without its first byte; its data and the rest of ``keep`` are anything. Throughput: a
    beat a cycle. Latency: none, ``o`` is ``i``.
    """

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            i=In(stream.Signature(BEAT.size)),
            o=Out(stream.Signature(BEAT.size)),
            runs=In(1),
        )

    def build(self, m: Module) -> None:
        begun = Signal()
        owed = Signal()  # the beat that ends a packet
        beat = BEAT(self.o.payload)
        m.d.comb += [
            self.o.payload.eq(self.i.payload),
            beat.keep[0].eq(BEAT(self.i.payload).keep[0] & ~owed),
            beat.last.eq(BEAT(self.i.payload).last | owed),
            self.o.valid.eq(self.i.valid | owed),
            self.i.ready.eq(self.o.ready & ~owed),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += begun.eq(~beat.last)
        with m.If(owed):
            m.d.sync += owed.eq(~self.o.ready)
        with m.Else():
            m.d.sync += owed.eq(begun & ~self.runs & ~self.i.valid)
