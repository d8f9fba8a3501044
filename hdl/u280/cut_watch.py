"""Watches for packets at a MAC that its reset cuts."""

from amaranth.hdl import Module, ResetSignal, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component


class CutWatch(Component):
    """Raises ``cut`` during a reset that has come inside a packet.

    ``moves`` is high in each cycle in which a beat of the packets moves; ``last`` is the beat's.
    """

    def __init__(self, params: None = None) -> None:
        super().__init__(params, {"moves": In(1), "last": In(1), "cut": Out(1)})

    def elaborate(self, platform) -> Module:
        m = Module()
        begun = Signal(reset_less=True)
        cut = Signal(reset_less=True)
        m.d.comb += self.cut.eq(cut)
        with m.If(ResetSignal()):
            m.d.sync += [cut.eq(cut | begun), begun.eq(0)]
        with m.Else():
            m.d.sync += cut.eq(0)
            with m.If(self.moves):
                m.d.sync += begun.eq(~self.last)
        return m
