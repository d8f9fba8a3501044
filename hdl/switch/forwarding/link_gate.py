"""Registers the packets for a port, and drops them while the port's link is down."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packets import BEAT
from hdl.common.streams import StreamRegister, stream_ports


class LinkGate(Component):
    """Passes packets from ``i`` to ``o``; while ``down``, takes and drops them.

    Nothing waits at ``i`` while ``down``. A packet is dropped whole, or if it has begun to leave,
    its next beat at ``o`` ends it without a byte (``keep`` is 0), which says that it is broken; the
    rest is dropped even if ``down`` ends meanwhile. A beat that waits at ``o`` stays there.
    ``discarded`` is high for a cycle for each packet that does not leave whole.

    Throughput: a beat a cycle. Latency: :attr:`latency`. Stalls: as a :class:`StreamRegister`; the
    first packet behind one that was cut may wait a cycle for its end.
    """

    latency = StreamRegister.latency

    def __init__(self, params: None = None) -> None:
        super().__init__(params, stream_ports(BEAT, BEAT) | {"down": In(1), "discarded": Out(1)})

    def build(self, m: Module) -> None:
        m.submodules.out = out = StreamRegister.sized(shape=BEAT)
        connect(m, out.o, flipped(self.o))
        beat = self.i.payload
        dropping = Signal()  # the packet that comes was under way while ``down``
        leaves = Signal()  # beats of the packet that comes have left, and not its end
        cut = Signal()  # the end of a broken packet has to leave
        drops, takes = Signal(), Signal()
        m.d.comb += [
            drops.eq(self.down | dropping),
            self.i.ready.eq(drops | (out.i.ready & ~cut)),
            takes.eq(self.i.valid & self.i.ready),
            out.i.valid.eq(cut | (self.i.valid & ~drops)),
            Value.cast(out.i.payload).eq(beat),
        ]
        with m.If(cut):
            m.d.comb += [out.i.payload.keep.eq(0), out.i.payload.last.eq(1)]
        inside = Signal()  # beats of the packet that comes have been taken, and not its last
        with m.If(takes):
            m.d.sync += [inside.eq(~beat.last), leaves.eq(~beat.last & ~drops)]
        ends = takes & beat.last
        m.d.sync += [
            dropping.eq(~ends & (dropping | (self.down & (takes | inside)))),
            cut.eq(Mux(cut, ~out.i.ready, leaves & drops)),
            self.discarded.eq(ends & drops),
        ]
        with m.If(drops):
            m.d.sync += leaves.eq(0)
