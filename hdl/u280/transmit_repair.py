"""Resets a MAC's transmitter that has run empty or has run over."""

from amaranth.hdl import Module, ResetSignal, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component

PULSE = 64  #: cycles of a reset


class TransmitRepair(Component):
    """Raises ``reset`` for 64 cycles after ``unfout`` or ``ovfout``: only it repairs a transmitter.

    (PG210 and PG292, AXI4-Stream User Interface Signals, of the same ports: "you must apply
    tx_reset".) ``underflow`` or ``overflow``, or both, are high with it, so that slower clocks see
    them. In the transmitter's clock; its reset, which ``reset`` causes, does not reach these
    registers, and what the ports say during it is not looked at.
    """

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            unfout=In(1),
            ovfout=In(1),
            reset=Out(1),
            underflow=Out(1),
            overflow=Out(1),
        )

    def build(self, m: Module) -> None:
        left = Signal(range(-1, PULSE), init=-1, reset_less=True)
        reset = Signal(reset_less=True)
        underflow = Signal(reset_less=True)
        overflow = Signal(reset_less=True)
        m.d.comb += [
            self.reset.eq(reset),
            self.underflow.eq(underflow),
            self.overflow.eq(overflow),
        ]
        with m.If(~left[-1]):
            m.d.sync += left.eq((left - 1)[: len(left)])
        with m.Else():
            m.d.sync += [reset.eq(0), underflow.eq(0), overflow.eq(0)]
            with m.If((self.unfout | self.ovfout) & ~ResetSignal()):
                m.d.sync += [
                    left.eq(PULSE - 2),
                    reset.eq(1),
                    underflow.eq(self.unfout),
                    overflow.eq(self.ovfout),
                ]
