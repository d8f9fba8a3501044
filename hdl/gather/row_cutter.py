"""Requests rows: exactly their bytes, or as a GPU does, whole sectors of its cache lines."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register, looked_up
from hdl.common.component import Component
from hdl.gather.params import LINE, MAX_ROW, SECTOR, SHARE, SKIP_BITS, GatherParams, ReadOrder

LINE_DWORDS = LINE // 4


class RowCutter(Component):
    """Turns each of ``rows`` into consecutive ``requests`` that cover all of it.

    In the merged order a row is one request for its bytes. In the other orders the requests go from
    the begin of the row's first sector to the end of its last one: aligned requests are cut at
    lines; naive ones are cut every 128 bytes after the row's first byte, rounded up to sectors.
    ``user`` says which dwords do not belong to the row (:data:`hdl.gather.params.SHARE`). Naive
    requests cross lines; the requester cuts them there, if its largest read is a line.

    Throughput: a request a cycle. Latency: :attr:`latency`.
    """

    latency = 2

    def __init__(self, params: GatherParams) -> None:
        super().__init__(
            params,
            {
                "table": In(params.table),
                "rows": In(stream.Signature(params.row)),
                "requests": Out(stream.Signature(params.reads.cutter.request)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        row, request = self.rows.payload, data_register(m, self.requests.payload)
        share, held = Signal(SHARE), Signal()
        at = Signal(62, reset_less=True)  # dword with which the next request begins
        left = Signal(11, reset_less=True)  # dwords of the row's requests that are left
        step = Signal(11, reset_less=True)  # dwords of the next request, unless fewer are left
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
                request.bytes.eq(Cat(Const(0, 2), Mux(share.last, left, step))),
                request.user.eq(share),
            ]
        with m.If(self.rows.ready):
            m.d.sync += [
                held.eq(self.rows.valid),
                beyond.eq(row.beyond),
                final.eq(row.final),
                at.eq(row.address),
            ]
            self.begin(m, at, left, step, skip, drop)
        with m.Elif(free):
            m.d.sync += [
                at.eq((at + step)[: len(at)]),
                left.eq((left - step)[: len(left)]),
                step.eq(LINE_DWORDS),
                skip.eq(0),
            ]
        return m

    def begin(self, m: Module, at: Signal, left: Signal, step: Signal, *beside: Signal) -> None:
        """Set a row's first request, and ``beside``: the dwords to be skipped and dropped."""
        skip, drop = beside
        place, dwords = self.rows.payload.address, self.table.row_bytes[2:]
        off = place[:SKIP_BITS]  # dwords from the sector's begin to the row's begin
        sectors = dwords + looked_up(lambda off: off + 7, off, bits=SKIP_BITS + 1)
        with m.If(self.table.order == ReadOrder.MERGED):
            m.d.sync += [left.eq(dwords), step.eq(MAX_ROW // 4), skip.eq(0), drop.eq(0)]
        with m.Else():
            m.d.sync += [
                at[:SKIP_BITS].eq(0),
                left.eq(Cat(Const(0, SKIP_BITS), sectors[SKIP_BITS : len(left)])),
                skip.eq(off),
                drop.eq(looked_up(lambda off, size: -off - size, off, dwords[:SKIP_BITS], bits=3)),
            ]
            with m.If(self.table.order == ReadOrder.ALIGNED):
                m.d.sync += step.eq(
                    Cat(
                        Const(0, SKIP_BITS),
                        looked_up(lambda sector: 4 - sector, place[3:5], bits=3),
                    )
                )
            with m.Else():
                m.d.sync += step.eq(Mux(off.any(), LINE_DWORDS + SECTOR // 4, LINE_DWORDS))
