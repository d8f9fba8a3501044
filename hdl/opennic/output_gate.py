"""Stops an output to the shell between two packets."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.shaped import ShapedParams


class OutputGateParams(ShapedParams, suffix="{width}"):
    """Sets the shape of a beat, whose last bit that counts is ``last_bit``."""

    last_bit: int  #: bit of a beat that ends a packet


class OutputGate(Component):
    """Passes packets of ``i`` to ``o``; while ``hold`` is high it begins none.

    A packet that has been offered goes on to its end. ``idle`` says that ``hold`` was high in the
    cycle before and that nothing of a packet is left to pass. Throughput: a beat a cycle. Latency:
    none, ``o`` is ``i``.
    """

    latency = 0

    def __init__(self, params: OutputGateParams) -> None:
        beats = stream.Signature(params.shape)
        super().__init__(params, i=In(beats), o=Out(beats), hold=In(1), idle=Out(1))

    def build(self, m: Module) -> None:
        i, o = self.i, self.o
        inside = Signal()  # a packet has been offered, and its last beat has not been taken
        opens = inside | ~self.hold
        last = Value.cast(i.payload)[self.params.last_bit]
        m.d.comb += [
            o.payload.eq(i.payload),
            o.valid.eq(i.valid & opens),
            i.ready.eq(o.ready & opens),
        ]
        with m.If(o.valid):
            m.d.sync += inside.eq(~(o.ready & last))
        idle = Signal(reset_less=True)
        m.d.sync += idle.eq(self.hold & ~inside)
        m.d.comb += self.idle.eq(idle)
