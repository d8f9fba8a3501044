"""Serialises wide beats into parts, where wires cost more than time, and deserialises them."""

from amaranth.hdl import Cat, Module, Signal

from hdl.common.component import Component
from hdl.common.params import whole
from hdl.common.shaped import ShapedParams
from hdl.common.streams import stream_ports


class GearboxParams(ShapedParams, suffix="{width}_in_{parts}"):
    """Sets the shape of a beat, and the number of its parts."""

    parts: int = whole(2, 16)  #: number of parts

    @property
    def part_bits(self) -> int:
        """Return the width of a part; the last part may be padded with zeros."""
        return -(-self.width // self.parts)


class Serializer(Component):
    """Sends each beat of ``i`` as ``params.parts`` beats of ``o``, the lowest bits first.

    Throughput: a beat in ``parts`` cycles. Latency: ``latency`` to the first part. Stalls: a part
    waits; ``i.ready`` depends on registers only.
    """

    latency = 1

    def __init__(self, params: GearboxParams) -> None:
        super().__init__(params, stream_ports(params.shape, params.part_bits))

    def elaborate(self, platform) -> Module:
        m = Module()
        parts, bits = self.params.parts, self.params.part_bits
        rest = Signal(parts * bits, reset_less=True)
        left = Signal(range(parts + 1))  # number of parts in ``rest``
        m.d.comb += [
            self.i.ready.eq(left == 0),
            self.o.valid.eq(left != 0),
            self.o.payload.eq(rest[:bits]),
        ]
        with m.If(self.i.ready):
            m.d.sync += rest.eq(self.i.payload)
            with m.If(self.i.valid):
                m.d.sync += left.eq(parts)
        with m.Elif(self.o.ready):
            m.d.sync += [rest.eq(rest >> bits), left.eq(left - 1)]
        return m


class Deserializer(Component):
    """Joins ``params.parts`` beats of ``i`` into one of ``o``, the first in the lowest bits.

    Throughput: a part a cycle, except in the cycle in which a whole beat is taken. Latency:
    ``latency`` from the last part. Stalls: a whole beat waits, and blocks the next part.
    """

    latency = 1

    def __init__(self, params: GearboxParams) -> None:
        super().__init__(params, stream_ports(params.part_bits, params.shape))

    def elaborate(self, platform) -> Module:
        m = Module()
        parts, bits = self.params.parts, self.params.part_bits
        whole = Signal(parts * bits, reset_less=True)
        present = Signal(range(parts + 1))  # number of parts in ``whole``
        m.d.comb += [
            self.i.ready.eq(present != parts),
            self.o.valid.eq(present == parts),
            self.o.payload.eq(whole[: self.params.width]),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [whole.eq(Cat(whole[bits:], self.i.payload)), present.eq(present + 1)]
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += present.eq(0)
        return m
