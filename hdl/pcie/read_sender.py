"""Sends reads to the block, each with a tag of its own, and keeps their order."""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.streams import StreamRegister, StreamRegisterParams
from hdl.pcie.axis import PcieStreamSignature, rq_user, say_request
from hdl.pcie.descriptors import DWORD_BITS, REQUEST, REQUEST_DWORDS, RequestType
from hdl.pcie.params import ReadRequesterParams


class ReadSender(Component):
    """Each of ``pieces`` becomes a beat of ``rq``, and an entry of ``order``, which has room.

    Tags are given in turn. One that is still ``taken`` when its turn comes is not waited for: an
    entry that is ``skipped`` stands for it in ``order``. A tag is not given again before its entry
    has ``left``, in order. ``given`` shows the tag of a piece in the cycle in which it is taken.
    ``hold``: no piece is taken. ``busy``: entries have not left.

    Throughput: a read a cycle. Latency: :attr:`latency` from a piece to RQ. Stalls: pieces wait
    for a free tag, or for the block.
    """

    latency = 1

    def __init__(self, params: ReadRequesterParams) -> None:
        user = rq_user(params.data_bits)
        super().__init__(
            params,
            {
                "hold": In(1),
                "epoch": In(2),
                "pieces": In(stream.Signature(params.cutter.piece)),
                "taken": In(params.tags),
                "given": Out(params.of_tag),
                "order": Out(stream.Signature(params.waiting)),
                "left": In(1),
                "busy": Out(1),
                "rq": Out(PcieStreamSignature(data_bits=params.data_bits, user=user)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params, piece, entry = self.params, self.pieces.payload, self.order.payload
        tag = Signal(params.tag_bits)  # whose turn it is
        after = Signal(params.tag_bits, init=1)
        free = Signal()  # it was not taken a cycle ago
        places = Signal(range(params.tags + 1))  # entries whose tags are not to be given
        room = ~places[-1]
        sends = self.send(m, tag)
        skips = Signal()
        moves = (sends.valid & sends.ready) | skips
        m.d.comb += [
            sends.valid.eq(self.pieces.valid & room & free & ~self.hold),
            skips.eq(self.pieces.valid & room & ~free & ~self.hold),
            self.busy.eq(places.any()),
            self.pieces.ready.eq(sends.valid & sends.ready),
            self.given.valid.eq(self.pieces.ready),
            self.given.tag.eq(tag),
            self.order.valid.eq(moves),
            entry.tag.eq(tag),
            entry.skipped.eq(skips),
            entry.epoch.eq(self.epoch),
            entry.bytes.eq(piece.bytes),
            entry.last.eq(piece.last),
            entry.user.eq(piece.user),
        ]
        taken = Array(self.taken)
        next_tag = Mux(moves, after, tag)
        m.d.sync += [
            places.eq(places + moves - self.left),
            free.eq(~Mux(moves, taken[after], taken[tag])),
            tag.eq(next_tag),
        ]
        with m.If(moves):
            m.d.sync += after.eq(after + 1)
        expect(m, self, leaves_what_has_entered=lambda: ~self.left | places.any())
        return m

    def send(self, m: Module, tag: Signal) -> Any:
        """Return the stream into a register before RQ, which takes ``pieces.payload``."""
        params, piece = self.params, self.pieces.payload
        layout = data.StructLayout(
            {"address": 62, "dwords": 11, "tag": params.tag_bits, "first": 4, "last": 4}
        )
        m.submodules.register = register = StreamRegister(StreamRegisterParams(width=layout.size))
        read, sent = layout(register.i.payload), layout(register.o.payload)
        one = piece.bytes <= DWORD_BITS // 8
        rest = piece.bytes[:2]  # bytes of the last dword, 0 if all
        enables = Signal(4)  # of the last dword
        m.d.comb += [
            enables.eq(Cat((rest == 0) | (rest > k) for k in range(4))),
            read.address.eq(piece.address),
            read.dwords.eq((piece.bytes + 3) >> 2),
            read.tag.eq(tag),
            read.first.eq(Mux(one, enables, 0xF)),
            read.last.eq(Mux(one, 0, enables)),
        ]
        descriptor, rq = Signal(REQUEST), self.rq
        m.d.comb += [
            descriptor.address.eq(sent.address),
            descriptor.dwords.eq(sent.dwords),
            descriptor.kind.eq(RequestType.MEMORY_READ),
            descriptor.tag.eq(sent.tag),
            rq.tdata.eq(descriptor),
            rq.tvalid.eq(register.o.valid),
            register.o.ready.eq(rq.tready),
            *say_request(
                rq, end_dword=Const(REQUEST_DWORDS - 1, 4), enables=(sent.first, sent.last)
            ),
        ]
        return register.i
