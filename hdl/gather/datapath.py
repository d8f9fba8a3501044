"""Gathers rows of a table in host memory."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.gather.params import GatherParams, ReadOrder
from hdl.gather.row_cutter import RowCutter
from hdl.gather.row_finder import RowFinder
from hdl.gather.row_packer import RowPacker
from hdl.pcie.axis import PcieStreamSignature, rc_user, rq_user
from hdl.pcie.read_requester import EVENTS, ReadRequester


class GatherDatapath(Component):
    """``rows`` are the rows ``table[idx]`` of ``idxs``, in their order, each from a new beat on.

    The paper's zero-copy access (3.2.1), with its orders of reads and one of ours
    (``table.order``). A row of which a read has failed has all its beats, and says why, from the
    first beat that is of no use on; so has one whose idx is not in the table, which is read as if
    it were 0, as ``beyond`` says. ``table`` may change when nothing is under way. Rows and strides
    are of whole dwords, a row of 4 to 4,096 bytes.

    ``limit``, ``tick``, ``stop``, ``idle``, ``owes``, ``events``, ``rq`` and ``rc`` are those of a
    :class:`ReadRequester`; ``limit`` counts where rows are merged, else a read is a line at most.

    Throughput: an idx, a read and a beat a cycle. Latency: :attr:`request_latency` from an idx to
    RQ, :attr:`latency` from a row's last completion on ``rc`` to its first beat if it has but one.
    """

    request_latency = RowFinder.latency + RowCutter.latency + ReadRequester.request_latency

    def __init__(self, params: GatherParams) -> None:
        bits = params.reads.data_bits
        self.latency = ReadRequester(params.reads).latency + RowPacker.latency
        super().__init__(
            params,
            {
                "table": In(params.table),
                "idxs": In(stream.Signature(params.idx_bits)),
                "rows": Out(stream.Signature(params.beat)),
                "limit": In(3),
                "tick": In(1),
                "stop": In(1),
                "idle": Out(1),
                "owes": Out(1),
                "events": Out(EVENTS),
                "rq": Out(PcieStreamSignature(data_bits=bits, user=rq_user(bits))),
                "rc": In(PcieStreamSignature(data_bits=bits, user=rc_user(bits))),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.finder = finder = RowFinder(self.params)
        m.submodules.cutter = cutter = RowCutter(self.params)
        m.submodules.reader = reader = ReadRequester(self.params.reads)
        m.submodules.packer = packer = RowPacker(self.params)
        connect(m, flipped(self.idxs), finder.idxs)
        connect(m, finder.rows, cutter.rows)
        connect(m, cutter.requests, reader.requests)
        connect(m, reader.beats, packer.parts)
        connect(m, packer.beats, flipped(self.rows))
        connect(m, reader.rq, flipped(self.rq))
        connect(m, flipped(self.rc), reader.rc)
        merged = self.table.order == ReadOrder.MERGED
        m.d.comb += [
            finder.table.eq(self.table),
            cutter.table.eq(self.table),
            reader.limit.eq(self.limit & merged.replicate(3)),  # else a line, of code 0
            reader.tick.eq(self.tick),
            reader.stop.eq(self.stop),
            self.idle.eq(reader.idle),
            self.owes.eq(reader.owes),
            self.events.eq(reader.events),
        ]
        return m
