"""Lets packets of a port into a middle pipe when there is room for all their possible results."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.switch.params import NetSparseSwitchParams


class PacketGate(Component):
    """Holds a packet at its first beat until the bit of its port in ``open`` is high.

    That bit is read a cycle ahead: if a first beat is valid at ``o``, the bit was high in the cycle
    before. So ``o`` has registers only, and a first beat that waits may be withdrawn. ``waits``
    says that a packet waits for room. Throughput: a beat a cycle. Latency: :attr:`latency`.
    ``i.ready`` follows ``o.ready`` combinationally.
    """

    latency = 1

    def __init__(self, params: NetSparseSwitchParams) -> None:
        super().__init__(
            params,
            i=In(stream.Signature(params.routed)),
            open=In(params.ports),
            o=Out(stream.Signature(params.routed)),
            waits=Out(1),
        )

    def build(self, m: Module) -> None:
        i, o = self.i, self.o
        beat = Signal(self.params.routed, reset_less=True)
        holds = Signal()  # it holds a beat
        goes = Signal()  # the beat may go on
        begins = Signal(init=1)  # the beat is a packet's first
        follows = Signal(init=1)  # the next beat is a packet's first
        moves = Signal()
        room = Array(self.open)
        m.d.comb += [
            o.payload.eq(beat),
            o.valid.eq(goes),
            moves.eq(goes & o.ready),
            follows.eq(Mux(holds, beat.beat.tlast, begins)),
            i.ready.eq(~holds | moves),
            self.waits.eq(holds & ~goes),
        ]
        with m.If(i.ready):
            m.d.sync += [
                beat.eq(i.payload),
                holds.eq(i.valid),
                begins.eq(follows),
                goes.eq(i.valid & (~follows | room[i.payload.egress])),
            ]
        with m.Else():
            m.d.sync += goes.eq(~begins | room[beat.egress])
