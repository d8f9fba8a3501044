"""Decides what an access to a Property Cache does: nothing, or an operation on a row of tags."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.property_cache.params import (
    JUDGE,
    SEGMENT_BYTES,
    Operation,
    PropertyCacheParams,
)
from hdl.netsparse.protocol import LENGTH_BITS


class AccessCheck(Component):
    """Turns an access into an operation on its row (the segment selector of figure 9).

    ``configure`` sets ``property_bytes``, the size of all properties in the cache, from the next
    cycle on. The mode is the smallest number of adjacent segments, a power of two, that hold a
    property; the lowest segment bits of an idx, which select among these segments, are not part of
    the row. An access of any other length is ``bypassed``; every access is if the size is 0 or more
    than the segments hold together.

    While ``clearing`` the operation is to clear ``clear_row``; lookups find nothing and inserts are
    ``discarded``. Latency: :attr:`latency`. Throughput: one access a cycle; no access waits.
    """

    latency = JUDGE

    def __init__(self, params: PropertyCacheParams) -> None:
        super().__init__(
            params,
            configure=In(1),
            property_bytes=In(LENGTH_BITS),
            valid=In(1),
            insert=In(1),
            idx=In(params.idx_bits),
            length=In(LENGTH_BITS),
            clearing=In(1),
            clear_row=In(params.row_bits),
            slot=Out(params.slot),
            passed=Out(params.passed),
        )

    def build(self, m: Module) -> None:
        params = self.params
        size = Signal(LENGTH_BITS)
        mode = Signal(params.mode_bits)
        enabled = Signal()
        requested = self.property_bytes
        with m.If(self.configure):
            m.d.sync += [
                size.eq(requested),
                enabled.eq((requested != 0) & (requested <= params.max_bytes)),
                mode.eq(Cat(requested > SEGMENT_BYTES << k for k in range(params.segment_bits))),
            ]
        serves = Signal()
        m.d.comb += serves.eq(enabled & (self.length == size))
        operation = Signal(Operation)
        m.d.sync += [
            self.slot.operation.eq(operation),
            self.slot.row.eq(Mux(self.clearing, self.clear_row, self.row_of(self.idx, mode))),
            self.slot.tag.eq(self.idx[params.set_bits :]),
            self.passed.lookup.eq(self.valid & serves & ~self.insert),
            self.passed.insert.eq(self.valid & serves & self.insert),
            self.passed.bypassed.eq(self.valid & ~serves),
            self.passed.discarded.eq(self.valid & serves & self.insert & self.clearing),
            self.passed.mode.eq(mode),
        ]
        with m.If(self.clearing):
            m.d.comb += operation.eq(Operation.CLEAR)
        with m.Elif(self.valid & serves):
            m.d.comb += operation.eq(Mux(self.insert, Operation.INSERT, Operation.LOOKUP))

    def row_of(self, idx, mode):
        """Return {segment, set} without the segment bits that ``mode`` ignores."""
        sets, segment = self.params.set_bits, self.params.segment_bits
        chosen = Cat(idx[sets + bit] & ~mode[bit] for bit in range(segment))
        return Cat(idx[:sets], chosen)
