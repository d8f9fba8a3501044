"""Has a small design with a stream of every kind: a pair of units between a bus and a MAC."""

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import Axi4Signature, AxiLiteSignature, AxiStreamSignature
from hdl.common.component import Component
from hdl.common.params import Params
from hdl.common.register_block import RegisterBlock
from hdl.common.registers import Register, RegisterMap, ro, rw

MAP = RegisterMap(
    "demo",
    (Register("all", "All there is.", rw("step", 8, "added"), ro("sum_low", 8, "<so far>")),),
    address_bits=3,
)


class DemoParams(Params, suffix="{units}x{bits}"):
    bits: int = 40  #: of a word
    units: int = 2  #: side by side


class Unit(Component):
    """Adds ``step``.

    Throughput: a word a cycle.
    """

    latency = 1

    def __init__(self, params):
        word = stream.Signature(params.bits)
        members = {"i": In(word), "o": Out(word), "step": In(8), "wide": Out(params.bits)}
        super().__init__(params, members)

    def build(self, m):
        with m.If(self.o.ready | ~self.o.valid):
            m.d.sync += [
                self.o.payload.eq((self.i.payload + self.step)[: self.params.bits]),
                self.o.valid.eq(self.i.valid),
            ]
        m.d.comb += [self.i.ready.eq(self.o.ready | ~self.o.valid), self.wide.eq(self.o.payload)]


class Sum(Component):
    """Sums up, and writes sums to memory."""

    def __init__(self, params):
        word = stream.Signature(params.bits)
        super().__init__(
            params,
            i=In(word).array(params.units),
            provided=In(params.bits),
            memory=Out(Axi4Signature(address_bits=12, data_bits=64, id_bits=2)),
            axis=Out(AxiStreamSignature(data_bits=64)),
        )

    def build(self, m):
        for i in self.i:
            m.d.comb += i.ready.eq(self.axis.tready)
            m.d.sync += self.axis.tdata.eq((self.axis.tdata + i.payload + self.provided)[:64])
        m.d.comb += [
            self.memory.awaddr.eq(self.axis.tdata[:12]),
            self.memory.araddr.eq(self.provided[:12]),
        ]


class Demo(Component):
    """A demonstration of ``units`` units & what they bring.

    Words come over ``words``.

    Of no use. Throughput: a word a cycle and unit. Latency: :attr:`latencies`.
    """

    register_map = staticmethod(lambda params: MAP)

    def __init__(self, params):
        self.latencies = {"word to sum": 2}
        super().__init__(
            params,
            s_axil=In(AxiLiteSignature(address_bits=3)),
            words=In(stream.Signature(params.bits)).array(params.units),
            m_axi=Out(Axi4Signature(address_bits=12, data_bits=64, id_bits=2)),
            m_axis=Out(AxiStreamSignature(data_bits=64)),
            irq=Out(1),
        )

    def build(self, m):
        m.submodules.registers = registers = RegisterBlock(MAP)
        m.submodules.sum = total = Sum(self.params)
        for k in range(self.params.units):
            m.submodules[f"unit_{k}"] = unit = Unit(self.params)
            connect(m, flipped(self.words[k]), unit.i)
            m.d.comb += unit.step.eq(registers.control.step)
            # A choice on the way, made by a register.
            m.d.comb += [
                total.i[k].payload.eq(unit.o.payload),
                total.i[k].valid.eq(unit.o.valid & registers.control.step[0]),
                unit.o.ready.eq(total.i[k].ready),
            ]
            if k == 0:
                m.d.comb += total.provided.eq(unit.wide)
        connect(m, flipped(self.s_axil), registers.axil)
        connect(m, total.memory, flipped(self.m_axi))
        connect(m, total.axis, flipped(self.m_axis))
        m.d.comb += [
            registers.status.sum_low.eq(total.axis.tdata[:8]),
            self.irq.eq(registers.control.step[1]),
        ]
