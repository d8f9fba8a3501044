"""Holds full activations back from the backward stage until the last of their mini-batch is in."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.engine.mini_batches import MiniBatches
from hdl.p4sgd.engine.params import LENGTHS
from hdl.p4sgd.worker_params import WorkerParams

COUNT_BITS = 17  #: width of the number of micro-batches that were received and not delivered


class BatchGate(Component):
    """Holds full activations back until their mini-batch is complete (P4SGD, section 2.2).

    This is vanilla model parallelism. ``seen`` pulses when a packet of full activations comes in,
    ``delivered`` when one is passed on, both in order; ``params.packets`` make a micro-batch. With
    ``vanilla``, ``allowed`` is high while the next one to be delivered belongs to a mini-batch that
    has come in completely, so the backward pass overlaps neither the forward pass nor the
    communication of its mini-batch. Without ``vanilla``, ``allowed`` is always high. ``start``
    clears the counts.
    """

    def __init__(self, params: WorkerParams) -> None:
        super().__init__(
            params,
            lengths=In(LENGTHS),
            start=In(1),
            vanilla=In(1),
            seen=In(1),
            delivered=In(1),
            allowed=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.mini_batches = mini_batches = MiniBatches(self.params.engine)
        gathering = Signal(COUNT_BITS, reset_less=True)  # received, of an incomplete mini-batch
        complete = Signal(COUNT_BITS, reset_less=True)  # received, of complete mini-batches
        seen = self.whole(m, self.seen, "seen")
        delivered = self.whole(m, self.delivered, "delivered")
        ends = seen & mini_batches.last
        # complete + gathering + 1 - delivered, in a chain with a carry in
        more = (Cat(1, complete) + Cat(~delivered, gathering))[1:][:COUNT_BITS]
        m.d.sync += gathering.eq(Mux(ends, 0, gathering + seen))
        m.d.sync += complete.eq(Mux(ends, more, complete - delivered))
        with m.If(self.start):
            m.d.sync += [gathering.eq(0), complete.eq(0)]
        m.d.comb += [
            mini_batches.lengths.eq(self.lengths),
            mini_batches.start.eq(self.start),
            mini_batches.step.eq(seen),
            self.allowed.eq(~self.vanilla | (complete != 0)),
        ]

    def whole(self, m: Module, packet: Value, name: str) -> Value:
        """Return a signal that is high with the last packet of each micro-batch."""
        if self.params.packets == 1:
            return packet
        count = Signal(range(self.params.packets), name=f"{name}_packets")
        last = count == self.params.packets - 1
        with m.If(self.start):
            m.d.sync += count.eq(0)
        with m.Elif(packet):
            m.d.sync += count.eq(Mux(last, 0, count + 1))
        return packet & last
