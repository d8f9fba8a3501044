"""Cuts requests into reads that the link carries: none crosses a multiple of the largest read."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.pcie.params import ReadRequesterParams

LEAST_READ = 128  #: bytes; the host's limits are this, twice as many, and so on


class RequestCutter(Component):
    """``pieces`` bring each byte of ``requests``, in their order, the last with ``last``.

    A piece ends where its address is a multiple of the largest read: 128 << ``limit`` bytes, the
    block's ``cfg_max_read_req``, or ``params.max_read`` if that is less. So none crosses 4 KB, and
    all completions but a request's outer ones can be of the largest payload.

    Throughput: a piece a cycle. Latency: :attr:`latency`. ``limit`` may change when no request is
    inside.
    """

    latency = 1

    def __init__(self, params: ReadRequesterParams) -> None:
        super().__init__(
            params,
            {
                "requests": In(stream.Signature(params.request)),
                "limit": In(3),
                "pieces": Out(stream.Signature(params.piece)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        request, piece = self.requests.payload, self.pieces.payload
        bits = self.params.offset_bits
        address = Signal(62, reset_less=True)  # of the first dword that is left
        left = Signal(12, reset_less=True)  # bytes, less one
        user = Signal(self.params.user_bits, reset_less=True)
        mask = Signal(bits)  # of a dword's number in the largest read
        room = Signal(bits)  # dwords up to the border, less one
        beyond = Signal()  # there is more than that
        largest = [(LEAST_READ << k) // 4 - 1 for k in range(6)]
        with m.Switch(self.limit):
            for k, value in enumerate(largest):
                with m.Case(k):
                    m.d.sync += mask.eq(min(value, (1 << bits) - 1))
            with m.Default():  # reserved
                m.d.sync += mask.eq(largest[0])
        m.d.comb += [
            room.eq(~address[:bits] & mask),
            beyond.eq(left[2:] > room),
            piece.address.eq(address),
            piece.bytes.eq(Mux(beyond, (room + 1) << 2, (left + 1)[: self.params.size_bits])),
            piece.last.eq(~beyond),
            piece.user.eq(user),
            self.requests.ready.eq(~self.pieces.valid | (self.pieces.ready & piece.last)),
        ]
        with m.If(self.requests.ready):
            m.d.sync += [
                self.pieces.valid.eq(self.requests.valid),
                address.eq(request.address[2:]),
                left.eq((request.bytes - 1)[: len(left)]),
                user.eq(request.user),
            ]
        with m.Elif(self.pieces.ready):
            m.d.sync += [
                address.eq(((address | mask) + 1)[: len(address)]),
                left.eq((left - ((room + 1) << 2))[: len(left)]),
            ]
        expect(
            m,
            self,
            begins_at_a_dword=lambda: ~self.requests.valid | ~request.address[:2].any(),
            has_1_to_4096_bytes=lambda: (
                ~self.requests.valid | (request.bytes.any() & (request.bytes <= 4096))
            ),
        )
        return m
