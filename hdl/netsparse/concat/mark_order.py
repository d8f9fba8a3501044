"""Puts marked packets, of which two may come in a cycle, into one order."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import Fifo, FifoParams
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams


class MarkOrder(Component):
    """Queues the packets that are marked; that of ``expires`` precedes that of ``arrives``.

    While ``waits`` is high the second of two packets still waits for the queue, and at most one
    packet may come. There is room for all packets that may be open or marked, so none is refused.
    Latency: that of the queue, plus a cycle for the second packet. Throughput: a packet a cycle.
    """

    def __init__(self, params: ConcatenatorParams) -> None:
        self.sizes = FifoParams(shape=params.mark, depth=params.packets, refuses=False)
        self.latency = self.sizes.latency
        super().__init__(
            params,
            expires=In(1),
            expired=In(params.mark),
            arrives=In(1),
            arrived=In(params.mark),
            waits=Out(1),
            enters=Out(1),  # a packet enters the queue
            entering=Out(params.mark),
            marks=Out(stream.Signature(params.mark)),
        )

    def build(self, m: Module) -> None:
        m.submodules.fifo = fifo = Fifo(self.sizes)
        connect(m, fifo.o, flipped(self.marks))
        second = Signal(self.params.mark, reset_less=True)
        waits = Signal()
        both = Signal()
        m.d.comb += [
            both.eq(self.expires & self.arrives),
            self.waits.eq(waits),
            self.enters.eq(waits | self.expires | self.arrives),
        ]
        with m.If(waits):
            m.d.comb += self.entering.eq(second)
        with m.Elif(self.expires):
            m.d.comb += self.entering.eq(self.expired)
        with m.Else():
            m.d.comb += self.entering.eq(self.arrived)
        with m.If(self.arrives):
            m.d.sync += second.eq(self.arrived)
        with m.Elif(self.expires):
            m.d.sync += second.eq(self.expired)
        m.d.sync += waits.eq((waits & (self.expires | self.arrives)) | both)
        m.d.comb += [
            fifo.i.valid.eq(self.enters),
            fifo.i.payload.eq(self.entering),
        ]
        expect(
            m,
            self,
            one_while_one_waits=lambda: ~(waits & both),
            there_is_room=lambda: ~self.enters | (fifo.level < self.sizes.depth),
        )
