"""Has small circuits whose cost is known by reasoning, under one top."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Signal
from amaranth.lib import memory
from amaranth.lib.wiring import In, Out

from gen.designs.design import Design
from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory, MemoryParams


@dataclass(frozen=True, kw_only=True)
class Bits:
    bits: int = 8

    @property
    def suffix(self):
        return str(self.bits)


class Sum(Component):
    """Adds two registered numbers, and registers the sum."""

    def __init__(self, params):
        super().__init__(params, a=In(params.bits), b=In(params.bits), total=Out(params.bits + 1))

    def build(self, m):
        a, b = (Signal(self.params.bits, name=name) for name in ("first", "second"))
        m.d.sync += [a.eq(self.a), b.eq(self.b), self.total.eq(a + b)]


class Delay(Component):
    """Has eight stages without a reset."""

    def __init__(self, params):
        super().__init__(params, i=In(params.bits), o=Out(params.bits))

    def build(self, m):
        value = self.i
        for index in range(8):
            stage = Signal(self.params.bits, name=f"stage_{index}", reset_less=True)
            m.d.sync += stage.eq(value)
            value = stage
        m.d.comb += self.o.eq(value)


class Table(Component):
    """Has a memory that is read without a clock."""

    def __init__(self, params):
        super().__init__(
            params,
            at=In(5),
            o=Out(params.bits),
            write=In(1),
            to=In(5),
            i=In(params.bits),
        )

    def build(self, m):
        attributes = {"ram_style": "distributed"}
        m.submodules.words = words = memory.Memory(
            shape=self.params.bits, depth=32, init=[], attrs=attributes
        )
        write, read = words.write_port(), words.read_port(domain="comb")
        m.d.comb += [write.addr.eq(self.to), write.data.eq(self.i), write.en.eq(self.write)]
        m.d.comb += [read.addr.eq(self.at), self.o.eq(read.data)]


class Parity(Component):
    """Computes that of 6 bits: one LUT from its inputs to its output, no register."""

    def __init__(self, params):
        super().__init__(params, i=In(params.bits), o=Out(1))

    def build(self, m):
        m.d.comb += self.o.eq(self.i.xor())


class Product(Component):
    """Multiplies two registered numbers, and registers the product."""

    def __init__(self, params):
        super().__init__(params, a=In(params.bits), b=In(params.bits), o=Out(2 * params.bits))

    def build(self, m):
        a, b = Signal(self.params.bits), Signal(self.params.bits)
        m.d.sync += [a.eq(self.a), b.eq(self.b), self.o.eq(a * b)]


@dataclass(frozen=True, kw_only=True)
class NoParams:
    pass


ULTRA = MemoryParams(shape=72, depth=4096, style="ultra")
BLOCK = MemoryParams(shape=36, depth=1024, style="block")


class Circuits(Component):
    """Has all of them, and two parities in a row between a register and another."""

    def __init__(self, params):
        super().__init__(params, i=In(72), at=In(12), o=Out(168), parity=Out(1))

    def build(self, m):
        m.submodules.sum = total = Sum(Bits(bits=16))
        m.submodules.delay = delay = Delay(Bits(bits=4))
        m.submodules.table = table = Table(Bits(bits=14))
        m.submodules.product = product = Product(Bits(bits=12))
        m.submodules.ultra = ultra = DualPortMemory(ULTRA)
        m.submodules.block = block = DualPortMemory(BLOCK)
        m.submodules.item = item = Parity(Bits(bits=6))
        m.submodules.other = other = Parity(Bits(bits=6))
        m.d.comb += [total.a.eq(self.i[:16]), total.b.eq(self.i[16:32]), delay.i.eq(self.i[:4])]
        m.d.comb += [table.at.eq(self.at[:5]), table.to.eq(self.at[:5])]
        m.d.comb += [
            table.write.eq(self.i[0]),
            product.a.eq(self.i[:12]),
            product.b.eq(self.i[12:24]),
        ]
        for part in (ultra, block):
            m.d.comb += [part.read_address.eq(low_bits(self.at, len(part.read_address)))]
            m.d.comb += [part.write_address.eq(low_bits(self.at, len(part.write_address)))]
            m.d.comb += [
                part.write.eq(self.i[1]),
                part.write_data.eq(low_bits(self.i, len(part.write_data))),
            ]
        held = Signal(6)
        m.d.sync += [held.eq(self.i[:6]), self.parity.eq(other.o)]
        m.d.comb += [item.i.eq(held), other.i.eq(item.o)]
        read = (ultra.read_data, block.read_data, table.o, product.o, total.total, delay.o)
        m.d.comb += self.o.eq(Cat(*read))


CIRCUITS = Design(
    name="circuits",
    about="small circuits",
    component="tests.gen.synth.circuits:Circuits",
    params="tests.gen.synth.circuits:NoParams",
    presets={"only": {}},
    preset="only",
)
