"""Limits reads to a share of the bandwidth of the bus to the block (a token bucket)."""

from amaranth.hdl import Cat, Const, Module, Signal, signed
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.registers import rw
from hdl.pcie.params import ReadRequesterParams

SHARE_BITS = 8  #: width of a share; a share is a number of 256ths

#: Is the field of a register by which a host sets the share.
SHARE_FIELD = rw(
    "share",
    SHARE_BITS,
    "sets how much data reads may bring in a cycle, in 256ths of a beat of the PCIe block; 0:"
    " there is no limit",
)


class ReadPace(Component):
    """``may_go`` says whether a read may be sent; ``goes`` says that one of ``bytes`` was.

    The token bucket gains ``share`` / 256 of a beat of data in every cycle, and loses the bytes of
    each read a cycle after it is sent. A read may be sent while the bucket is not negative, so it
    may overdraw it. Unused tokens are kept, up to 16 beats of data. So in any period the reads that
    are sent ask for at most ``share`` / 256 of the data that the bus could carry, plus 16 beats and
    two reads. A share of 0 switches the limit off.

    Latency: a cycle from ``share`` and ``goes`` to ``may_go``.
    """

    latency = 1

    def __init__(self, params: ReadRequesterParams) -> None:
        super().__init__(
            params,
            share=In(SHARE_BITS),
            goes=In(1),
            bytes=In(params.size_bits),
            may_go=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        # A token is 1/256 of a beat.
        by_byte = SHARE_BITS - exact_log2(params.data_bits // 8)
        stored = 16 << SHARE_BITS
        most = 2 * (params.max_read << by_byte)  # overdraft
        tokens = Signal(signed(bits_for(max(stored + 256, most)) + 1))
        spent = Signal(params.size_bits + by_byte)
        full = self.may_go & tokens[exact_log2(stored) :].any()  # no carry chain before the sum's
        comes = self.share & ~full.replicate(SHARE_BITS)
        m.d.comb += self.may_go.eq(~tokens[-1])
        m.d.sync += spent.eq(Cat(Const(0, by_byte), self.bytes) & self.goes.replicate(len(spent)))
        with m.If(~self.share.any()):
            m.d.sync += tokens.eq(0)
        with m.Else():
            m.d.sync += tokens.eq((tokens + comes - spent)[: len(tokens)])
        expect(m, self, goes_when_it_may=lambda: ~self.goes | self.may_go)
