"""Sends reads to the block, each with a tag of its own."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.streams import StreamRegister
from hdl.pcie.axis import PcieStreamSignature, rq_user, say_request
from hdl.pcie.descriptors import DWORD_BITS, REQUEST, REQUEST_DWORDS, RequestType
from hdl.pcie.params import EPOCH, PLACE_BITS, ReadRequesterParams


class ReadSender(Component):
    """Turns each of ``pieces`` into a beat of ``rq`` and an entry of ``order``, which has room.

    Each piece takes one of the free ``tags``, which ``provided`` has in the cycle in which the
    piece is taken. No piece is taken while a bit of ``hold`` is high; with ``forget``, the
    remaining pieces of a request do not come.

    Throughput: a read a cycle. Latency: :attr:`latency` from a piece to RQ. Stalls: pieces wait
    for a free tag, or for the block.
    """

    latency = 1

    def __init__(self, params: ReadRequesterParams) -> None:
        user = rq_user(params.data_bits)
        super().__init__(
            params,
            hold=In(3),
            forget=In(1),
            epoch=In(EPOCH),
            pieces=In(stream.Signature(params.cutter.piece)),
            tags=In(stream.Signature(params.tag_bits)),
            provided=Out(params.of_tag),
            order=Out(stream.Signature(params.waiting)),
            rq=Out(PcieStreamSignature(data_bits=params.data_bits, user=user)),
        )

    def build(self, m: Module) -> None:
        params, piece, entry = self.params, self.pieces.payload, self.order.payload
        sends = self.send(m, self.tags.payload)
        may_go = Signal()
        goes = Signal()
        m.d.comb += [
            may_go.eq(self.tags.valid & ~self.hold.any()),
            sends.valid.eq(self.pieces.valid & may_go),
            goes.eq(sends.valid & sends.ready),
            # Without ``valid``: ``goes`` drives many loads already.
            self.pieces.ready.eq(may_go & sends.ready),
            self.tags.ready.eq(goes),
            self.provided.valid.eq(goes),
            self.provided.tag.eq(self.tags.payload),
            self.order.valid.eq(goes),
            entry.tag.eq(self.tags.payload),
            entry.epoch.eq(self.epoch),
            entry.read.top.eq((piece.bytes - 1)[: len(entry.read.top)]),
            entry.read.last.eq(piece.last),
            entry.read.user.eq(piece.user),
        ]
        if not params.in_order:
            place = Signal(PLACE_BITS)  # of the piece in its request
            m.d.comb += entry.read.place.eq(place)
            with m.If(goes):
                m.d.sync += place.eq(Mux(piece.last, 0, (place + piece.bytes)[:PLACE_BITS]))
            with m.Elif(self.forget):
                m.d.sync += place.eq(0)

    def send(self, m: Module, tag: Value) -> Any:
        """Return the stream into a register before RQ, which takes ``pieces.payload``."""
        params, piece = self.params, self.pieces.payload
        layout = data.StructLayout(
            {"address": 62, "dwords": 11, "tag": params.tag_bits, "first": 4, "last": 4}
        )
        m.submodules.register = register = StreamRegister.sized(shape=layout)
        read, sent = register.i.payload, register.o.payload
        item = piece.bytes <= DWORD_BITS // 8
        rest = piece.bytes[:2]  # bytes of the last dword; 0 means all four
        enables = Signal(4)  # byte enables of the last dword
        m.d.comb += [
            enables.eq(Cat((rest == 0) | (rest > k) for k in range(4))),
            read.address.eq(piece.address),
            read.dwords.eq((piece.bytes + 3) >> 2),
            read.tag.eq(tag),
            read.first.eq(Mux(item, enables, 0xF)),
            read.last.eq(Mux(item, 0, enables)),
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
