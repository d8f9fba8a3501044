"""Ends a packet that a reset has cut at the output of a switch."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import AXIS


class CutEnd(Component):
    """Passes ``i`` to ``o``; a packet that is open at ``cut`` ends with a broken beat.

    ``cut`` is high in the last cycle before the driver of ``i`` is reset. If a packet has begun and
    not ended then, a beat of undefined data with ``tlast`` and ``tuser`` follows before any other
    beat: the receiver drops the packet, and does not wait for its end. A first beat that waits in
    that cycle is withdrawn. Throughput: a beat a cycle. Latency: none.
    """

    latency = 0

    def __init__(self, params: None = None) -> None:
        super().__init__(params, i=In(AXIS), o=Out(AXIS), cut=In(1))

    def build(self, m: Module) -> None:
        i, o = self.i, self.o
        inside = Signal()  # a packet has begun and not ended
        stays = Signal()  # value of ``inside`` after this cycle
        ends = Signal()  # a broken beat must be sent
        m.d.comb += [
            o.tdata.eq(i.tdata),
            o.tkeep.eq(i.tkeep),
            o.tlast.eq(i.tlast | ends),
            o.tuser.eq(i.tuser | ends),
            o.tvalid.eq(i.tvalid | ends),
            i.tready.eq(o.tready & ~ends),
            stays.eq(Mux(o.tvalid & o.tready, ~o.tlast, inside)),
        ]
        m.d.sync += inside.eq(stays)
        with m.If(self.cut):
            m.d.sync += ends.eq(stays)
        with m.Elif(o.tready):
            m.d.sync += ends.eq(0)
