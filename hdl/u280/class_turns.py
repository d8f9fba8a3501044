"""Chooses, in front of the MAC, whose packet is next, of classes the far end has not paused."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT, to_axis, to_stream
from hdl.common.stream_arbiter import StreamArbiter, StreamArbiterParams
from hdl.common.streams import StreamRegister, forward
from hdl.netsparse.kind_split import KINDS


class ClassTurns(Component):
    """Sends packets of each ``i[k]`` to ``mac`` whole, in turn; with ``pause[k]`` none begins.

    A paused class does not block the others: each class waits in its own queue. ``i`` must have all
    of a packet's beats one after the other, as :class:`MacTransmit` gives them, so that ``mac`` has
    no gap within one. ``ack[k]`` is high when, because of ``pause[k]``, nothing of the class is
    inside any more: the MAC's timer may count (PG203, "RX Pause Termination"). It follows
    ``pause[k]`` down within :attr:`release` cycles.

    Throughput: a beat a cycle. Latency: that of a :class:`StreamArbiter`. The last packet of class
    k to leave begins at the input in the first cycle with ``pause[k]`` at the latest.
    """

    latency = StreamArbiter.latency
    release = 2

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            i=In(AXIS).array(KINDS),
            mac=Out(AXIS),
            pause=In(KINDS),
            ack=Out(KINDS),
        )

    def build(self, m: Module) -> None:
        sizes = StreamArbiterParams(
            shape=BEAT, count=KINDS, last_bit=BEAT["last"].offset, holds=True
        )
        m.submodules.turns = turns = StreamArbiter(sizes)
        hold = Signal(KINDS)
        m.d.sync += hold.eq(self.pause)
        m.d.comb += turns.hold.eq(hold)
        out = turns.o.payload
        leaves = Signal()
        m.d.comb += leaves.eq(turns.o.valid & turns.o.ready)
        still = Signal(KINDS)
        for k, axis in enumerate(self.i):
            to_stream(m, axis, turns.i[k])
            beats = Signal(range(StreamRegister.capacity + 1), name=f"beats_{k}")  # not yet out
            comes = Signal(name=f"comes_{k}")
            goes = Signal(name=f"goes_{k}")
            m.d.comb += [
                comes.eq(axis.tvalid & axis.tready),
                goes.eq(leaves & (out.index == k)),
                still[k].eq(hold[k] & (beats == 0)),
            ]
            m.d.sync += beats.eq((beats + comes - goes)[: len(beats)])
        m.d.sync += self.ack.eq(still)
        outgoing = stream.Signature(BEAT).create(path=("outgoing",))
        m.d.comb += [*forward(turns.o, outgoing), outgoing.payload.eq(out.payload)]
        to_axis(m, outgoing, self.mac)
