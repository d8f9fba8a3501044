"""Connects two ports of a simulated network without delay, where their frames can be captured."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packets import AXIS
from sim.harness.tap import Tap


class Cable(Component):
    """Delivers at ``o`` in the same cycle what is at ``i``; ``frames`` counts it, modulo 2**32."""

    taps = (Tap(stream="i"),)

    def __init__(self, params: None = None) -> None:
        super().__init__(params, i=In(AXIS), o=Out(AXIS), frames=Out(32))

    def build(self, m: Module) -> None:
        connect(m, flipped(self.i), flipped(self.o))
        m.d.sync += self.frames.eq(self.frames + (self.i.tvalid & self.i.tready & self.i.tlast))
