"""Writes host memory through AMD's block for PCI Express."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.streams import StreamSkid, connect_by, cut_ready
from hdl.pcie.axis import PcieStreamSignature, rq_user, say_request
from hdl.pcie.packet_gate import PacketGate
from hdl.pcie.request_cutter import RequestCutter
from hdl.pcie.write_aligner import WriteAligner
from hdl.pcie.write_fence import NUMBERS, WriteFence
from hdl.pcie.write_params import WriteRequesterParams
from hdl.pcie.write_planner import WritePlanner

COUNT_BITS = 8  #: width of the number of writes under way, which the gate's size limits


class WriteRequester(Component):
    """Sends ``data`` to the addresses of ``requests``, in order, as posted writes.

    A request is for 1 to 4,096 bytes from any byte address on. Its data comes packed: byte 0 is the
    lowest byte of its first beat of ``data``, and surplus bytes of its last beat are ignored. It is
    cut where an address is a multiple of the largest payload (``limit``: ``cfg_max_payload``, at
    most ``params.max_payload``). Byte enables mask the bytes of its first and last dword that are
    not the request's.

    A posted write has no completion. ``sent`` has, for a cycle, the ``user`` of a request whose
    last beat ``rq`` has taken: a later read or write on the same RQ finds its bytes at the host
    (PCI Express 3.1, 2.4.1: neither passes a posted write). ``visible`` has it when no completion
    to the host and no interrupt can overtake the write (:class:`WriteFence`, with ``numbers`` and
    ``clear``). ``begun`` pulses for each packet, to be counted.

    While ``stop`` is high requests wait, and no packet is begun. Packets of writes under way are
    dropped, ``lost`` pulses for each, and a write of which a packet is dropped is never ``sent``.
    Hold ``stop`` until ``idle``; all data of the writes under way must come before.

    Throughput: a beat of ``rq`` a cycle, of data and descriptors. Latency: :attr:`latency` from a
    request and its data to a packet of one beat; a longer one leaves when all of it is there, and
    then without a gap. Stalls: requests and data wait for each other, for ``rq``, and while the
    block has not reported the numbers of 60 packets. A request whose data does not come blocks only
    those behind it.
    """

    latency = (
        RequestCutter.latency + WritePlanner.latency + WriteAligner.latency + PacketGate.latency
    )

    def __init__(self, params: WriteRequesterParams) -> None:
        bits = params.data_bits
        super().__init__(
            params,
            requests=In(stream.Signature(params.cutter.request)),
            data=In(stream.Signature(bits)),
            limit=In(2),
            sent=Out(params.sent),
            begun=Out(1),
            stop=In(1),
            idle=Out(1),
            lost=Out(1),
            numbers=In(NUMBERS),
            clear=In(1),
            owes=Out(1),
            visible=Out(params.fence.reported),
            rq=Out(PcieStreamSignature(data_bits=bits, user=rq_user(bits))),
        )

    def build(self, m: Module) -> None:
        params, rq = self.params, self.rq
        m.submodules.cutter = cutter = RequestCutter(params.cutter)
        m.submodules.planner = planner = WritePlanner(params)
        m.submodules.aligner = aligner = WriteAligner(params)
        out = stream.Signature(params.beat).create(path=("out",))
        m.submodules.requests_skid = skid = StreamSkid.sized(shape=params.cutter.request)
        connect(m, skid.o, cutter.requests)
        m.d.comb += [
            skid.i.payload.eq(self.requests.payload),
            skid.i.valid.eq(self.requests.valid & ~self.stop),
            self.requests.ready.eq(skid.i.ready & ~self.stop),
        ]
        # Else one path of ready reaches from the user's data to its requests.
        cut_ready(m, "pieces_skid", cutter.pieces, planner.pieces)
        connect(m, planner.plans, aligner.plans)
        connect(m, flipped(self.data), aligner.data)
        connect_by(m, "gate", PacketGate(params.gate), aligner.beats, flipped(out))
        m.submodules.fence = fence = WriteFence(params.fence)
        beat, goes = out.payload, Signal()
        drops = self.drop(m, out)
        m.d.comb += [
            cutter.limit.eq(self.limit),
            goes.eq((fence.room | ~beat.begins) & ~drops),
            out.ready.eq((rq.tready & goes) | drops),
            rq.tvalid.eq(out.valid & goes),
            rq.tdata.eq(beat.data),
            *say_request(
                rq,
                begins=beat.begins,
                ends=beat.ends,
                end_dword=beat.end_dword,
                enables=(beat.first_enable, beat.last_enable),
                number=fence.number,
            ),
            fence.packet.final.eq(beat.final),
            fence.packet.user.eq(beat.user),
            fence.taken.eq(rq.tvalid & rq.tready & beat.begins),
            fence.numbers.eq(self.numbers),
            fence.clear.eq(self.clear),
            self.owes.eq(fence.owes),
            self.visible.eq(fence.visible),
        ]
        m.d.sync += [
            self.begun.eq(fence.taken),
            self.sent.valid.eq(rq.tvalid & rq.tready & beat.final & beat.ends),
            self.sent.user.eq(beat.user),
        ]

    def drop(self, m: Module, out: Any) -> Signal:
        """Return whether a beat is dropped; beats of a packet already offered to ``rq`` are not.

        This also counts the writes under way.
        """
        beat, shown, dropping, drops = out.payload, Signal(), Signal(), Signal()
        under_way = Signal(COUNT_BITS)
        came = Signal()  # a request was taken in the previous cycle
        ends = out.valid & out.ready & beat.final & beat.ends
        m.d.comb += drops.eq(Mux(beat.begins, self.stop & ~shown, dropping))
        m.d.sync += [
            shown.eq(self.rq.tvalid & ~self.rq.tready),
            came.eq(self.requests.valid & self.requests.ready),
            self.idle.eq(~(under_way.any() | came)),
            self.lost.eq(out.valid & drops & beat.begins),
        ]
        with m.If(came & ~ends):
            m.d.sync += under_way.eq(under_way + 1)
        with m.If(ends & ~came):
            m.d.sync += under_way.eq(under_way - 1)
        with m.If(out.valid & out.ready):
            m.d.sync += dropping.eq(drops)
        return drops
