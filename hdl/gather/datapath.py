"""Gathers rows of a table in host memory."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.gather.params import ROW_READ, GatherParams, ReadOrder
from hdl.gather.row_cutter import RowCutter
from hdl.gather.row_finder import RowFinder
from hdl.gather.row_packer import RowPacker


class GatherDatapath(Component):
    """``rows`` are the rows ``table[idx]`` of ``idxs``, in their order, each from a new beat on.

    The paper's zero-copy access (3.2.1), with its orders of reads and one of ours
    (``table.order``). A row of which a read has failed has all its beats, and says why, from the
    first beat that is of no use on; so has one whose idx is not in the table, for which row 0 is
    read, as ``beyond`` says. Bytes that are of no use are zero. ``table`` may change when nothing
    is under way. Rows and strides are of whole dwords, a row of 4 to 4,096 bytes.

    ``requests`` and ``parts`` are those of a :class:`hdl.pcie.read_requester.ReadRequester`, which
    is to cut requests at ``read_limit``: at ``limit`` where rows are merged, else at lines.
    ``joined``, ``first`` and ``read`` are those of a :class:`RowPacker`.

    Throughput: an idx, a read and a beat a cycle. Latency: :attr:`request_latency` from an idx to
    its first request, :attr:`latency` from a row's part to its first beat if it has but one.
    """

    request_latency = RowFinder.latency + RowCutter.latency
    latency = RowPacker.latency

    def __init__(self, params: GatherParams) -> None:
        super().__init__(
            params,
            {
                "table": In(params.table),
                "joined": In(1),
                "first": In(params.reads.lane_bits),
                "limit": In(3),
                "read_limit": Out(3),
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
        connect(m, flipped(self.idxs), finder.idxs)
        connect(m, finder.rows, cutter.rows)
        connect(m, cutter.requests, flipped(self.requests))
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
