"""Counts events: the hardware of a small design, with a register that shows the count."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.params import Params, whole
from hdl.common.register_block import RegisterBlock
from hdl.common.registers import Register, RegisterMap, ro


class TallyParams(Params):
    """Sets the width of the count."""

    bits: int = whole(1, 32, default=8)  #: width of the count


def tally_registers(params):
    """Return the registers of a tally: one field, of which driver and datasheet are made too."""
    return RegisterMap("tally", (Register("count", "Events.", ro("events", params.bits, "n")),))


class Tally(Component):
    """Counts the cycles in which ``event`` is high, modulo 2 ** bits."""

    register_map = staticmethod(tally_registers)

    def __init__(self, params):
        axil = AxiLiteSignature(address_bits=12)
        super().__init__(params, event=In(1), count=Out(params.bits), axil=In(axil))

    def build(self, m: Module) -> None:
        m.submodules.registers = registers = RegisterBlock(tally_registers(self.params))
        connect(m, flipped(self.axil), registers.axil)
        more = Signal(self.params.bits)
        m.d.comb += [more.eq((self.count + 1)[: self.params.bits])]
        with m.If(self.event):
            m.d.sync += self.count.eq(more)
        m.d.comb += registers.status.events.eq(self.count)
