"""Holds small components for tests of the harness."""

from dataclasses import dataclass
from itertools import pairwise

from amaranth.hdl import Mux, Signal, signed
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component


@dataclass(frozen=True, kw_only=True)
class JoinParams:
    bits: int = 40


class Join(Component):
    """Outputs ``o = a + 1`` when a beat of ``go``, which carries nothing, lets it."""

    def __init__(self, params):
        super().__init__(
            params,
            a=In(stream.Signature(params.bits)),
            go=In(stream.Signature(0)),
            o=Out(stream.Signature(params.bits)),
            edges=Out(16),
        )

    def build(self, m):
        moves = self.o.valid & self.o.ready
        m.d.comb += [
            self.o.valid.eq(self.a.valid & self.go.valid),
            self.o.payload.eq((self.a.payload + 1)[: len(self.o.payload)]),
            self.a.ready.eq(moves),
            self.go.ready.eq(moves),
        ]
        m.d.sync += self.edges.eq(self.edges + 1)


@dataclass(frozen=True, kw_only=True)
class RegisterParams:
    number_bits: int = 8

    @property
    def suffix(self):
        return str(self.number_bits)

    @property
    def beat(self):
        return data.StructLayout({"number": signed(self.number_bits), "last": 1})


class StreamRegister(Component):
    latency = 1

    def __init__(self, params):
        member = stream.Signature(params.beat)
        super().__init__(params, i=In(member), o=Out(member))

    def build(self, m):
        m.d.comb += self.i.ready.eq(~self.o.valid | self.o.ready)
        with m.If(self.i.ready):
            m.d.sync += [self.o.valid.eq(self.i.valid), self.o.payload.eq(self.i.payload)]


class StreamChain(StreamRegister):
    """Three registers in a row."""

    def build(self, m):
        registers = [StreamRegister(self.params) for _ in range(3)]
        for index, (before, after) in enumerate(pairwise([None, *registers, None])):
            if after is not None:
                m.submodules[f"stage_{index}"] = after
            near = self.i if before is None else before.o
            far = self.o if after is None else after.i
            m.d.comb += [
                far.payload.eq(near.payload),
                far.valid.eq(near.valid),
                near.ready.eq(far.ready),
            ]


@dataclass(frozen=True, kw_only=True)
class WordParams:
    suffix = ""


class Word(Component):
    """Holds a word behind a bus; a write's readies follow its valids in the same cycle.

    A read's is high ahead of its valid. Address 0 has the word, any other the number of writes.
    """

    def __init__(self, params):
        super().__init__(params, s_axil=In(AxiLiteSignature(address_bits=3)))

    def build(self, m):
        bus, held, writes = self.s_axil, Signal(32), Signal(32)
        written = bus.awvalid & bus.wvalid & ~bus.bvalid
        read = bus.arvalid & ~bus.rvalid
        m.d.comb += [bus.awready.eq(written), bus.wready.eq(written), bus.arready.eq(~bus.rvalid)]
        m.d.sync += bus.bvalid.eq(written | (bus.bvalid & ~bus.bready))
        m.d.sync += bus.rvalid.eq(read | (bus.rvalid & ~bus.rready))
        with m.If(written):
            m.d.sync += [held.eq(bus.wdata), writes.eq(writes + 1)]
        with m.If(read):
            m.d.sync += bus.rdata.eq(Mux(bus.araddr == 0, held, writes))
