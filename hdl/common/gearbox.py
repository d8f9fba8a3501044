"""Serialises wide beats into parts, where wires cost more than time, and deserialises them."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import Out
from amaranth.utils import bits_for

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

    ``last`` marks the last of them. Throughput: a beat in ``parts`` + 1 cycles. Latency:
    ``latency`` to the first part. Stalls: a part waits; ``i.ready`` depends on registers only.
    """

    latency = 1

    def __init__(self, params: GearboxParams) -> None:
        ports = stream_ports(params.shape, params.part_bits)
        super().__init__(params, ports | {"last": Out(1)})

    def build(self, m: Module) -> None:
        parts, bits = self.params.parts, self.params.part_bits
        whole = Signal(parts * bits, reset_less=True)
        empty = Signal(init=1)  # a register, as it drives all of ``whole``
        at = Signal(range(parts))  # the part that is due
        m.d.comb += [
            self.i.ready.eq(empty),
            self.o.valid.eq(~empty),
            self.last.eq(at == parts - 1),
            self.o.payload.eq(whole.word_select(at, bits)),
        ]
        with m.If(empty):
            m.d.sync += [whole.eq(self.i.payload), empty.eq(~self.i.valid), at.eq(0)]
        with m.Elif(self.o.ready):
            m.d.sync += [at.eq(at + 1), empty.eq(self.last)]


class Deserializer(Component):
    """Joins ``params.parts`` beats of ``i`` into one of ``o``, the first in the lowest bits.

    Throughput: a part a cycle, except in the cycle in which a whole beat is taken. Latency:
    ``latency`` from the last part. Stalls: a whole beat waits, and blocks the next part.
    """

    latency = 1

    def __init__(self, params: GearboxParams) -> None:
        super().__init__(params, stream_ports(params.part_bits, params.shape))

    def build(self, m: Module) -> None:
        parts, bits = self.params.parts, self.params.part_bits
        whole = Signal(parts * bits, reset_less=True)
        present = Signal(range(parts + 1))  # number of parts in ``whole``
        m.d.comb += [
            self.i.ready.eq(present != parts),
            self.o.valid.eq(present == parts),
            self.o.payload.eq(whole[: self.params.width]),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                whole.word_select(present[: bits_for(parts - 1)], bits).eq(self.i.payload),
                present.eq(present + 1),
            ]
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += present.eq(0)
