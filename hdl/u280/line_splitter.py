"""Splits accesses to lines of 64 bytes into pairs of beats of an HBM port."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.axi import Axi4Signature, Burst, Response
from hdl.common.component import Component

LINE_BITS = 512
HALF_BITS = LINE_BITS // 2


@dataclass(frozen=True, kw_only=True)
class LineSplitterParams:
    """Sizes of the buses at both sides."""

    address_bits: int  #: width of a byte address

    @property
    def suffix(self) -> str:
        """Tells the address bits."""
        return f"{self.address_bits}"

    @property
    def lines(self) -> Axi4Signature:
        """Describe the bus of bursts of one beat."""
        return Axi4Signature(address_bits=self.address_bits, data_bits=LINE_BITS)

    @property
    def halves(self) -> Axi4Signature:
        """Describe the bus of bursts of two beats of half the width."""
        return Axi4Signature(address_bits=self.address_bits, data_bits=HALF_BITS)


class LineSplitter(Component):
    """Each burst of ``lines``, one beat of 512 bits, is one of two beats of ``halves``.

    The lower half comes first. There are no identifiers, so answers come in order. The worse of
    two answers to a read is the line's; a burst of another length, up to its RLAST, is one line
    all the same, which answers SLVERR.

    Throughput: a line in two cycles, each way. Latency: none but that of the second half.
    """

    def __init__(self, params: LineSplitterParams) -> None:
        super().__init__(params, {"lines": In(params.lines), "halves": Out(params.halves)})

    def elaborate(self, platform) -> Module:
        m = Module()
        self.ask(m, "ar")
        self.ask(m, "aw")
        self.merge(m)
        self.split(m)
        return m

    def ask(self, m: Module, asks: str) -> None:
        """Pass an address channel."""
        lines, halves = self.lines, self.halves
        m.d.comb += [
            getattr(halves, f"{asks}addr").eq(getattr(lines, f"{asks}addr")),
            getattr(halves, f"{asks}len").eq(1),
            getattr(halves, f"{asks}size").eq((HALF_BITS // 8 - 1).bit_length()),
            getattr(halves, f"{asks}burst").eq(Burst.INCR),
            getattr(halves, f"{asks}valid").eq(getattr(lines, f"{asks}valid")),
            getattr(lines, f"{asks}ready").eq(getattr(halves, f"{asks}ready")),
        ]

    def merge(self, m: Module) -> None:
        """Put the beats of R up to RLAST into one; B passes."""
        lines, halves = self.lines, self.halves
        low = Signal(HALF_BITS, reset_less=True)
        low_response = Signal(Response, reset_less=True)
        second = Signal()  # the lower half is here
        beyond = Signal()  # and the upper one, without RLAST
        mine, other = low_response.as_value(), halves.rresp.as_value()
        worse = Signal(2)
        with m.If(mine > other):
            m.d.comb += worse.eq(mine)
        with m.Else():
            m.d.comb += worse.eq(other)
        with m.If(~second | beyond):
            m.d.comb += worse.eq(Response.SLVERR)
        m.d.comb += [
            lines.rdata.eq(Cat(low, halves.rdata)),
            lines.rresp.eq(Response(worse)),
            lines.rlast.eq(1),
            lines.rvalid.eq(halves.rlast & halves.rvalid),
            halves.rready.eq(~halves.rlast | lines.rready),
            lines.bresp.eq(halves.bresp),
            lines.bvalid.eq(halves.bvalid),
            halves.bready.eq(lines.bready),
        ]
        with m.If(~second):
            m.d.sync += [low.eq(halves.rdata), low_response.eq(halves.rresp)]
        with m.If(halves.rvalid & halves.rready):
            m.d.sync += [second.eq(~halves.rlast), beyond.eq(second & ~halves.rlast)]

    def split(self, m: Module) -> None:
        """Split a beat of W into two."""
        lines, halves = self.lines, self.halves
        second = Signal()
        strobes = HALF_BITS // 8
        m.d.comb += [
            halves.wdata.eq(Mux(second, lines.wdata[HALF_BITS:], lines.wdata[:HALF_BITS])),
            halves.wstrb.eq(Mux(second, lines.wstrb[strobes:], lines.wstrb[:strobes])),
            halves.wlast.eq(second),
            halves.wvalid.eq(lines.wvalid),
            lines.wready.eq(second & halves.wready),
        ]
        with m.If(halves.wvalid & halves.wready):
            m.d.sync += second.eq(~second)
