"""Gathers rows of a table in host memory."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.streams import forward
from hdl.gather.params import ROW_READ, SLOT_BITS, SLOTS, GatherParams, ReadOrder
from hdl.gather.repeat_finder import RepeatFinder
from hdl.gather.row_cutter import RowCutter
from hdl.gather.row_finder import RowFinder
from hdl.gather.row_keeper import RowKeeper
from hdl.gather.row_packer import RowPacker

ORDER = 512  #: most rows under way, in a build that keeps rows


class GatherDatapath(Component):
    """Gathers the rows ``table[idx]`` of ``idxs``, in order; each row begins a new beat.

    This is the paper's zero-copy access (3.2.1), with the paper's orders of reads and one more,
    :attr:`ReadOrder.MERGED` (``table.order``). A row always has all its beats. If one of its reads
    fails, ``cause`` says why, from the first invalid beat on. For an idx that is not in the table,
    row 0 is read and ``beyond`` is set. All invalid bytes are zero. ``table`` may change when
    nothing is under way. A row has 1 to 65,536 bytes; it and its table begin at any byte.

    ``requests`` and ``parts`` are those of a :class:`hdl.pcie.read_requester.ReadRequester`, which
    must cut requests at ``read_limit``: this is ``limit`` for merged rows, and a line for the other
    orders. With ``params.kept_parts`` and ``table.coalesce``, a row whose idx came a short while
    ago is repeated without a read (:class:`RepeatFinder`); ``clear`` drops all kept rows, and is
    allowed when nothing is under way. ``joined``, ``first`` and ``read`` are those of a
    :class:`RowPacker`.

    Throughput: an idx, a read and a beat a cycle. Latency: :attr:`request_latency` from an idx to
    its first request, :attr:`latency` from a row's part to its first beat if it has but one.
    """

    def __init__(self, params: GatherParams) -> None:
        keeps = bool(params.kept_parts)
        self.request_latency = RepeatFinder.latency * keeps + RowFinder.latency + RowCutter.latency
        self.latency = RowKeeper.latency * keeps + RowPacker.latency
        super().__init__(
            params,
            table=In(params.table),
            joined=In(1),
            first=In(params.first_bits),
            limit=In(3),
            read_limit=Out(3),
            clear=In(1),
            idxs=In(stream.Signature(params.idx)),
            rows=Out(stream.Signature(params.beat)),
            read=Out(ROW_READ),
            requests=Out(stream.Signature(params.reads.cutter.request)),
            parts=In(stream.Signature(params.reads.beat)),
        )

    def build(self, m: Module) -> None:
        m.submodules.finder = finder = RowFinder(self.params)
        m.submodules.cutter = cutter = RowCutter(self.params)
        m.submodules.packer = packer = RowPacker(self.params)
        connect(m, cutter.requests, flipped(self.requests))
        if self.params.kept_parts:
            self.coalesce(m, finder, cutter, packer)
        else:
            idx = self.idxs.payload
            m.d.comb += forward(self.idxs, finder.idxs, idx=idx.idx, final=idx.final)
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
            self.read_limit.eq(self.limit & merged.replicate(3)),  # code 0: a line
        ]

    def coalesce(self, m: Module, finder: RowFinder, cutter: RowCutter, packer: RowPacker) -> None:
        """Connect the parts that repeat rows which were fetched a short while ago."""
        params = self.params
        m.submodules.repeats = repeats = RepeatFinder(params)
        m.submodules.keeper = keeper = RowKeeper(params)
        m.submodules.order = order = Fifo.sized(shape=params.ordered, depth=ORDER)
        connect(m, flipped(self.idxs), repeats.idxs)
        connect(m, repeats.result, finder.idxs)
        connect(m, flipped(self.parts), keeper.fetched)
        connect(m, keeper.parts, packer.parts)
        connect(m, order.o, keeper.order)
        row, known, ordered = finder.rows.payload, Signal(), order.i.payload
        slots = Signal(range(params.kept_parts + 1))
        limits = params.row_limits()
        slot_bits = len(limits)
        for bits, most in reversed(list(enumerate(limits))):  # no sum behind the comparisons
            slot_bits = Mux(self.table.row_bytes > most, slot_bits, bits)
        m.d.sync += [
            keeper.slot_bits.eq(slot_bits),
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
            finder.rows.ready.eq(order.i.ready & (row.repeats | cutter.rows.ready)),
        ]
