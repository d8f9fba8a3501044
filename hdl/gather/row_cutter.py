"""Requests rows: the dwords that they are in, or as a GPU does, sectors of its cache lines."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register, looked_up
from hdl.common.axi import FOUR_KB
from hdl.common.component import Component
from hdl.gather.params import LINE, MAX_ROW, SECTOR, SHARE, SKIP_BITS, GatherParams, ReadOrder

LINE_DWORDS = LINE // 4
PAGE_DWORDS = FOUR_KB // 4
MAX_DWORDS = (MAX_ROW + 2 * SECTOR) // 4  #: of the sectors of the largest row


class RowCutter(Component):
    """Turns each of ``rows`` into consecutive ``requests`` that cover all of it.

    In the merged order a row is requested from its first dword to its last one, cut at multiples of
    4,096 bytes. In the other orders the requests go from the begin of the row's first sector to the
    end of its last one: aligned requests are cut at lines; naive ones are cut every 128 bytes after
    the row's first byte, rounded up to sectors. A row begins at any byte, and has any length.
    ``user`` says which bytes do not belong to the row (:data:`hdl.gather.params.SHARE`). Naive
    requests cross lines; the requester cuts them there, if its largest read is a line.

    Throughput: a request a cycle. Latency: :attr:`latency`.
    """

    latency = 2

    def __init__(self, params: GatherParams) -> None:
        super().__init__(
            params,
            table=In(params.table),
            rows=In(stream.Signature(params.row)),
            requests=Out(stream.Signature(params.reads.cutter.request)),
        )

    def build(self, m: Module) -> None:
        row, request = self.rows.payload, data_register(m, self.requests.payload)
        share, held = Signal(SHARE), Signal()
        at = Signal(62, reset_less=True)  # dword with which the next request begins
        left = Signal(range(MAX_DWORDS + 1), reset_less=True)  # dwords that are left
        step = Signal(range(PAGE_DWORDS + 1), reset_less=True)  # dwords of a request, or fewer
        skip, drop = Signal(SKIP_BITS, reset_less=True), Signal(SKIP_BITS, reset_less=True)
        beyond, final = Signal(reset_less=True), Signal(reset_less=True)
        free = ~self.requests.valid | self.requests.ready
        m.d.comb += [
            share.skip.eq(skip),
            share.last.eq(left <= step),
            share.drop.eq(Mux(share.last, drop, 0)),
            share.beyond.eq(beyond),
            share.final.eq(final),
            self.rows.ready.eq(~held | (free & share.last)),
        ]
        with m.If(free):
            m.d.sync += [
                self.requests.valid.eq(held),
                request.address.eq(Cat(Const(0, 2), at)),
                request.bytes.eq(Cat(Const(0, 2), Mux(share.last, left, step)[: len(step)])),
                request.user.eq(share),
            ]
        with m.If(self.rows.ready):
            m.d.sync += [held.eq(self.rows.valid), beyond.eq(row.beyond), final.eq(row.final)]
            begun = self.begin(m, step, skip, drop)
        with m.Elif(free):
            m.d.sync += [
                step.eq(Mux(self.table.order == ReadOrder.MERGED, PAGE_DWORDS, LINE_DWORDS)),
                skip.eq(0),
            ]
        # With a Mux in their place Yosys would share sums, behind what ``last`` says of another.
        now, place = Cat(left, at), Cat((left - step)[: len(left)], (at + step)[: len(at)])
        comes = self.rows.ready.replicate(len(now))
        with m.If(~held | free):
            m.d.sync += now.eq((begun & comes) | (place & ~comes))

    def begin(self, m: Module, step: Signal, *beside: Signal) -> Value:
        """Set a row's first request, and ``beside``: the bytes to be skipped and dropped.

        Return how many dwords there are, and behind that the number of the first.
        """
        skip, drop = beside
        place, off = self.rows.payload.address[2:], self.rows.payload.address[:SKIP_BITS]
        merged = self.table.order == ReadOrder.MERGED
        # From the begin of the first dword or sector to the row's end, and up to the next one's
        # begin, less one: the lowest bits are the complement of what is read behind the row.
        more = looked_up(
            lambda off, merged: off % 4 + 3 if merged else off + SECTOR - 1, off, merged, bits=6
        )
        end = (self.table.row_bytes + more)[: MAX_DWORDS.bit_length() + 2]
        m.d.sync += [
            skip.eq(Cat(off[:2], off[2:] & ~merged.replicate(3))),
            drop.eq(Cat(~end[:2], ~(end[2:SKIP_BITS] | merged.replicate(3)))),
        ]
        with m.If(merged):
            m.d.sync += step.eq(PAGE_DWORDS - place[:10])
        with m.Else():
            with m.If(self.table.order == ReadOrder.ALIGNED):
                m.d.sync += step.eq(
                    Cat(Const(0, 3), looked_up(lambda sector: 4 - sector, place[3:5], bits=3))
                )
            with m.Else():
                m.d.sync += step.eq(Mux(off.any(), LINE_DWORDS + SECTOR // 4, LINE_DWORDS))
        count = Cat(end[2:SKIP_BITS] & merged.replicate(3), end[SKIP_BITS:])
        return Cat(count, place[:3] & merged.replicate(3), place[3:])
