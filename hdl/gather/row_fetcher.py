"""Fetches the rows of arrays of idxs."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.streams import cut_ready
from hdl.gather.datapath import GatherDatapath
from hdl.gather.engine_params import DESCRIPTORS, IDXS, ROWS, GatherEngineParams
from hdl.gather.idx_reader import IdxReader
from hdl.pcie.read_share import COUNT_BITS, ReadShare

#: names the ports that are the datapath's
OF_DATAPATH = ("table", "joined", "first", "limit", "read_limit", "rows", "read")


class RowFetcher(Component):
    """Fetches the rows of ``table`` whose idxs are in ``arrays``, in the order of the idxs.

    ``arrays`` and ``idx_failed`` are those of an :class:`IdxReader`; :data:`OF_DATAPATH` names
    those of a :class:`GatherDatapath`; ``requested``, ``answers``, ``most`` and ``under_way`` are
    those of a :class:`ReadShare`. With ``params.card_idxs``, ``card_requested`` and ``card_beats``
    read idxs from device memory. With ``params.descriptors``, ``descriptor_requested`` and
    ``descriptor_beats`` are the ports of a third user of host memory, whose beats are always
    taken. ``idx_waits``: a row could be requested, but no idx is there.

    Throughput: an idx, a read and a beat of rows a cycle. Latency: :attr:`request_latency` from an
    idx to ``requested``, :attr:`latency` from a row's last answer to its last beat.
    """

    def __init__(self, params: GatherEngineParams) -> None:
        share, datapath = params.share, GatherDatapath(params.gather)
        self.request_latency = datapath.request_latency + ReadShare.latency
        self.latency = datapath.latency
        super().__init__(
            params,
            arrays=In(stream.Signature(params.idx_array)),
            idx_failed=Out(1),
            **{name: datapath.signature.members[name] for name in OF_DATAPATH},
            requested=Out(stream.Signature(share.shared.cutter.request)),
            answers=In(stream.Signature(share.shared.beat)),
            most=In(COUNT_BITS),
            under_way=Out(COUNT_BITS),
            idx_waits=Out(1),
            card_requested=Out(stream.Signature(params.reads.cutter.request)),
            card_beats=In(stream.Signature(params.reads.beat)),
            **(
                {
                    "descriptor_requested": In(stream.Signature(params.reads.cutter.request)),
                    "descriptor_beats": Out(stream.Signature(params.reads.beat)),
                }
                if params.descriptors
                else {}
            ),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.share = share = ReadShare(params.share)
        m.submodules.idx_reader = reader = IdxReader(params)
        m.submodules.datapath = datapath = GatherDatapath(params.gather)
        connect(m, flipped(self.arrays), reader.arrays)
        cut_ready(m, "idx_skid", reader.idxs, datapath.idxs)
        connect(m, datapath.requests, share.requests[ROWS])
        cut_ready(m, "parts_skid", share.beats[ROWS], datapath.parts)
        self.choose(m, reader, share)
        if params.descriptors:
            connect(m, flipped(self.descriptor_requested), share.requests[DESCRIPTORS])
            connect(m, share.beats[DESCRIPTORS], flipped(self.descriptor_beats))
        cut_ready(m, "requested_skid", share.requested, flipped(self.requested))
        connect(m, flipped(self.answers), share.answers)
        # Else one path of ready reaches from the output through the packer to the answers.
        cut_ready(m, "rows_skid", datapath.rows, flipped(self.rows))
        m.d.comb += [
            self.idx_failed.eq(reader.failed),
            self.idx_waits.eq(reader.idxs.ready & ~reader.idxs.valid),
            datapath.table.eq(self.table),
            datapath.clear.eq(self.arrays.valid & self.arrays.ready),
            datapath.joined.eq(self.joined),
            datapath.first.eq(self.first),
            datapath.limit.eq(self.limit),
            self.read_limit.eq(datapath.read_limit),
            self.read.eq(datapath.read),
            share.most.eq(self.most),
            self.under_way.eq(share.under_way),
        ]

    def choose(self, m: Module, reader: IdxReader, share: ReadShare) -> None:
        """Route requests of idxs, and their beats, to host memory or to device memory."""
        if not self.params.card_idxs:
            connect(m, reader.requests, share.requests[IDXS])
            connect(m, share.beats[IDXS], reader.beats)
            return
        on_card = Signal()
        with m.If(self.arrays.valid & self.arrays.ready):
            m.d.sync += on_card.eq(self.arrays.payload.on_card)
        host, card = share.requests[IDXS], flipped(self.card_requested)
        for requested, meant in ((host, ~on_card), (card, on_card)):
            m.d.comb += [
                requested.payload.eq(reader.requests.payload),
                requested.valid.eq(reader.requests.valid & meant),
            ]
        beats, card_beats = share.beats[IDXS], self.card_beats
        m.d.comb += [
            reader.requests.ready.eq(Mux(on_card, card.ready, host.ready)),
            reader.beats.payload.eq(Mux(on_card, card_beats.payload, beats.payload)),
            reader.beats.valid.eq(Mux(on_card, card_beats.valid, beats.valid)),
            beats.ready.eq(reader.beats.ready),
            card_beats.ready.eq(reader.beats.ready),
        ]
