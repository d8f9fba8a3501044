"""Queues the answers for a port, and sends them."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.common.component import Component
from hdl.common.crossbar import chosen
from hdl.common.fifo import Fifo
from hdl.common.packets import AXIS


class AnswerExit(Component):
    """Sends on ``axis`` what banks are ``sending`` to this port: one bank at a time.

    ``heading`` has the bit of the bank whose beat comes to this port in the next cycle.

    ``sent`` pulses when a frame has left. While ``coming`` is low, no frame comes to an idle
    ``axis`` in the next cycle. Throughput: a beat a cycle. Latency: :attr:`latency`, if the queue
    is empty. Full: a frame that might find no room for all of its beats is lost, which ``dropped``
    reports with its first beat.
    """

    latency = 1

    def __init__(self, params: AllReduceSwitchParams) -> None:
        super().__init__(
            params,
            sending=In(data.ArrayLayout(params.answered, params.banks)),
            heading=In(params.banks),
            axis=Out(AXIS),
            coming=Out(1),
            sent=Out(1),
            dropped=Out(1),
        )

    def build(self, m: Module) -> None:
        params, axis = self.params, self.axis
        m.submodules.fifo = fifo = Fifo(params.egress_fifo)
        senders = Signal(params.banks)
        m.d.sync += senders.eq(self.heading)
        beat, comes = fifo.i.payload, Signal()
        inside, kept, room, keeps = (Signal(name=n) for n in ("inside", "kept", "room", "keeps"))
        m.d.comb += [
            comes.eq(senders.any()),
            self.coming.eq(comes),
            beat.eq(chosen(senders, [*self.sending])),
            keeps.eq(Mux(inside, kept, room)),
            fifo.i.valid.eq(comes & keeps),
            self.dropped.eq(comes & ~inside & ~room),
        ]
        # The level is that of the cycle before, in which a beat may have come.
        m.d.sync += room.eq(fifo.level < params.egress_depth - params.frames.beats)
        with m.If(comes):
            m.d.sync += [inside.eq(~beat.last), kept.eq(keeps)]
        last = fifo.o.payload
        m.d.comb += [
            axis.tdata.eq(last.data),
            axis.tkeep.eq(Cat(Cat(~last.last | (last.words >= k)).replicate(4) for k in range(16))),
            axis.tlast.eq(last.last),
            axis.tvalid.eq(fifo.o.valid),
            fifo.o.ready.eq(axis.tready),
            self.sent.eq(fifo.o.valid & axis.tready & last.last),
        ]
