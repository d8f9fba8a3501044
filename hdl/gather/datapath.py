"""Gathers rows of a table in host memory."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.gather.params import ROW_READ, SLOT_BITS, SLOTS, GatherParams, ReadOrder
from hdl.gather.repeat_finder import RepeatFinder
from hdl.gather.row_cutter import RowCutter
from hdl.gather.row_finder import RowFinder
from hdl.gather.row_keeper import RowKeeper
from hdl.gather.row_packer import RowPacker

ORDER = 512  #: rows under way, at most, where rows are kept


class GatherDatapath(Component):
    """``rows`` are the rows ``table[idx]`` of ``idxs``, in their order, each from a new beat on.

    The paper's zero-copy access (3.2.1), with its orders of reads and one of ours
    (``table.order``). A row of which a read has failed has all its beats, and says why, from the
    first beat that is of no use on; so has one whose idx is not in the table, for which row 0 is
    read, as ``beyond`` says. Bytes that are of no use are zero. ``table`` may change when nothing
    is under way. Rows and strides are of whole dwords, a row of 4 to 4,096 bytes.

    ``requests`` and ``parts`` are those of a :class:`hdl.pcie.read_requester.ReadRequester`, which
    is to cut requests at ``read_limit``: at ``limit`` where rows are merged, else at lines.
    With ``params.kept_parts`` a row whose idx has come a short while ago is given again, without a
    read, if ``table.coalesce`` (:class:`RepeatFinder`); ``clear`` forgets all rows, when nothing is
    under way. ``joined``, ``first`` and ``read`` are those of a :class:`RowPacker`.

    Throughput: an idx, a read and a beat a cycle. Latency: :attr:`request_latency` from an idx to
    its first request, :attr:`latency` from a row's part to its first beat if it has but one.
    """

    def __init__(self, params: GatherParams) -> None:
        keeps = bool(params.kept_parts)
        self.request_latency = RepeatFinder.latency * keeps + RowFinder.latency + RowCutter.latency
        self.latency = RowKeeper.latency * keeps + RowPacker.latency
        super().__init__(
            params,
            {
                "table": In(params.table),
                "joined": In(1),
                "first": In(params.reads.lane_bits),
                "limit": In(3),
                "read_limit": Out(3),
                "clear": In(1),
                "idxs": In(stream.Signature(params.idx)),
                "rows": Out(stream.Signature(params.beat)),
                "read": Out(ROW_READ),
                "requests": Out(stream.Signature(params.reads.cutter.request)),
                "parts": In(stream.Signature(params.reads.beat)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.finder = finder = RowFinder(self.params)
        m.submodules.cutter = cutter = RowCutter(self.params)
        m.submodules.packer = packer = RowPacker(self.params)
        connect(m, cutter.requests, flipped(self.requests))
        if self.params.kept_parts:
            self.coalesce(m, finder, cutter, packer)
        else:
            pass_on(m, flipped(self.idxs), finder.idxs)
            connect(m, finder.rows, cutter.rows)
            connect(m, flipped(self.parts), packer.parts)
        connect(m, packer.beats, flipped(self.rows))
        merged = self.table.order == ReadOrder.MERGED
        m.d.comb += [
            finder.table.eq(self.table),
            cutter.table.eq(self.table),
            packer.joined.eq(self.joined),
            packer.first.eq(self.first),
            self.read.eq(packer.read),
            self.read_limit.eq(self.limit & merged.replicate(3)),  # else a line, of code 0
        ]
        return m

    def coalesce(self, m: Module, finder: RowFinder, cutter: RowCutter, packer: RowPacker) -> None:
        """Let rows that have been fetched a short while ago be given again."""
        params = self.params
        m.submodules.repeats = repeats = RepeatFinder(params)
        m.submodules.keeper = keeper = RowKeeper(params)
        m.submodules.order = order = Fifo(FifoParams(width=params.ordered.size, depth=ORDER))
        connect(m, flipped(self.idxs), repeats.idxs)
        connect(m, repeats.found, finder.idxs)
        connect(m, flipped(self.parts), keeper.fetched)
        connect(m, keeper.parts, packer.parts)
        row, known, ordered = finder.rows.payload, Signal(), Signal(params.ordered)
        slots = Signal(range(params.kept_parts + 1))
        limits = params.row_limits()
        m.d.sync += [
            keeper.slot_bits.eq(sum((self.table.row_bytes > most) for most in limits)),
            slots.eq(params.kept_parts >> keeper.slot_bits),
            repeats.slots.eq(Mux(slots > SLOTS, SLOTS - 1, slots - 1)[:SLOT_BITS]),
            known.eq(self.table.coalesce & (slots > 1)),
        ]
        m.d.comb += [
            repeats.coalesce.eq(known),
            repeats.clear.eq(self.clear),
            cutter.rows.payload.eq(row),
            cutter.rows.valid.eq(finder.rows.valid & ~row.repeats & order.i.ready),
            order.i.valid.eq(finder.rows.valid & (row.repeats | cutter.rows.ready)),
            *(ordered[name].eq(row[name]) for name, _ in params.ordered),
            order.i.payload.eq(ordered),
            finder.rows.ready.eq(order.i.ready & (row.repeats | cutter.rows.ready)),
            keeper.order.payload.eq(order.o.payload),
            keeper.order.valid.eq(order.o.valid),
            order.o.ready.eq(keeper.order.ready),
        ]


def pass_on(m: Module, idxs: Any, found: Any) -> None:
    """Give idxs on none of which is known whether it repeats."""
    m.d.comb += [
        found.payload.idx.eq(idxs.payload.idx),
        found.payload.final.eq(idxs.payload.final),
        found.valid.eq(idxs.valid),
        idxs.ready.eq(found.ready),
    ]
