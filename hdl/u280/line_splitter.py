"""Splits accesses to lines of 64 bytes into pairs of beats of an HBM port."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.axi import Axi4Signature, Burst, Response
from hdl.common.component import Component
from hdl.common.params import Params, whole

LINE_BITS = 512
HALF_BITS = LINE_BITS // 2


class LineSplitterParams(Params, suffix="{address_bits}_l{length_bits}"):
    """Sets the widths of the buses at both sides."""

    address_bits: int  #: width of a byte address
    length_bits: int = whole(1, 7)  #: width of a burst's length in lines

    @property
    def lines(self) -> Axi4Signature:
        """Describe the bus of whole lines."""
        return Axi4Signature(address_bits=self.address_bits, data_bits=LINE_BITS)

    @property
    def halves(self) -> Axi4Signature:
        """Describe the bus of halves, two beats for each line."""
        return Axi4Signature(address_bits=self.address_bits, data_bits=HALF_BITS)


class LineSplitter(Component):
    """Makes of each burst of ``lines``, beats of 512 bits, one of twice as many of ``halves``.

    Bursts begin at whole lines; the lower half comes first. Identifiers are 0, so answers come in
    order. The worse of two responses to a read is the line's. An RLAST with a lower half ends a
    line whose response is SLVERR; the master must count the lines.

    Throughput: a line in two cycles, each way. Latency: none but that of the second half.
    """

    def __init__(self, params: LineSplitterParams) -> None:
        super().__init__(params, lines=In(params.lines), halves=Out(params.halves))

    def build(self, m: Module) -> None:
        self.issue(m, "ar")
        self.issue(m, "aw")
        self.merge(m)
        self.split(m)

    def issue(self, m: Module, demands: str) -> None:
        """Pass the bursts of an address channel, AR or AW, twice as long."""
        lines, halves = self.lines, self.halves
        more = getattr(lines, f"{demands}len")[: self.params.length_bits]
        m.d.comb += [
            getattr(halves, f"{demands}addr").eq(getattr(lines, f"{demands}addr")),
            getattr(halves, f"{demands}len").eq(Cat(Const(1, 1), more)),
            getattr(halves, f"{demands}size").eq((HALF_BITS // 8 - 1).bit_length()),
            getattr(halves, f"{demands}burst").eq(Burst.INCR),
            getattr(halves, f"{demands}valid").eq(getattr(lines, f"{demands}valid")),
            getattr(lines, f"{demands}ready").eq(getattr(halves, f"{demands}ready")),
        ]

    def merge(self, m: Module) -> None:
        """Put the beats of R in pairs; B passes."""
        lines, halves = self.lines, self.halves
        low = Signal(HALF_BITS, reset_less=True)
        low_response = Signal(Response, reset_less=True)
        second = Signal()  # the lower half is here
        own, other = low_response.as_value(), halves.rresp.as_value()
        worse = Signal(2)
        with m.If(own > other):
            m.d.comb += worse.eq(own)
        with m.Else():
            m.d.comb += worse.eq(other)
        ends = second | halves.rlast
        with m.If(~second):
            m.d.comb += worse.eq(Response.SLVERR)
        m.d.comb += [
            lines.rdata.eq(Cat(low, halves.rdata)),
            lines.rresp.eq(Response(worse)),
            lines.rlast.eq(halves.rlast),
            lines.rvalid.eq(ends & halves.rvalid),
            halves.rready.eq(~ends | lines.rready),
            lines.bresp.eq(halves.bresp),
            lines.bvalid.eq(halves.bvalid),
            halves.bready.eq(lines.bready),
        ]
        with m.If(~second & ~ends):  # what ends too early stays as it is until it is taken
            m.d.sync += [low.eq(halves.rdata), low_response.eq(halves.rresp)]
        with m.If(halves.rvalid & halves.rready):
            m.d.sync += second.eq(~ends)

    def split(self, m: Module) -> None:
        """Split a beat of W into two."""
        lines, halves = self.lines, self.halves
        second = Signal()
        strobes = HALF_BITS // 8
        m.d.comb += [
            halves.wdata.eq(Mux(second, lines.wdata[HALF_BITS:], lines.wdata[:HALF_BITS])),
            halves.wstrb.eq(Mux(second, lines.wstrb[strobes:], lines.wstrb[:strobes])),
            halves.wlast.eq(second & lines.wlast),
            halves.wvalid.eq(lines.wvalid),
            lines.wready.eq(second & halves.wready),
        ]
        with m.If(halves.wvalid & halves.wready):
            m.d.sync += second.eq(~second)
