"""Cuts requests into packets for the link: none crosses a multiple of the largest packet size."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from hdl.common.arithmetic import data_register, looked_up
from hdl.common.axi import FOUR_KB
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.params import Params, choice, whole
from hdl.pcie.descriptors import DWORD_BITS

SIZES = (128, 256, 512, 1024, 2048, 4096)  #: bytes that a host may allow for a packet


class CutterParams(Params, suffix="{most}_u{user_bits}"):
    """Sets how large the pieces of a request are."""

    most: int = choice(*SIZES)  #: bytes of the largest piece
    user_bits: int = whole(1)  #: width of what goes along with a request

    @property
    def offset_bits(self) -> int:
        """Return the width of a dword's place in its piece."""
        return ceil_log2(self.most * 8 // DWORD_BITS)

    @property
    def request(self) -> data.StructLayout:
        """Describe a request: 1 to 4,096 bytes from a byte address on."""
        return data.StructLayout(
            {"address": 64, "bytes": bits_for(FOUR_KB), "user": self.user_bits}
        )

    @property
    def piece(self) -> data.StructLayout:
        """Describe a piece: ``bytes`` bytes from the dword ``address`` on.

        The first ``skip`` of them lie before the request's first byte.
        """
        return data.StructLayout(
            {
                "address": 62,
                "skip": 2,
                "bytes": bits_for(self.most),
                "last": 1,
                "user": self.user_bits,
            }
        )


class RequestCutter(Component):
    """Cuts ``requests`` into ``pieces``, in order; the last piece of a request has ``last``.

    A piece ends where the address is a multiple of the largest piece: 128 << ``limit`` bytes, or
    ``params.most`` if that is less. ``limit`` is the block's ``cfg_max_read_req`` or
    ``cfg_max_payload``. So no piece crosses 4 KB, and all completions but the first and last of a
    request can have the largest payload.

    Throughput: a piece a cycle. Latency: :attr:`latency`. ``limit`` may change when no request is
    inside.
    """

    latency = 2

    def __init__(self, params: CutterParams) -> None:
        super().__init__(
            params,
            requests=In(stream.Signature(params.request)),
            limit=In(3),
            pieces=Out(stream.Signature(params.piece)),
        )

    def build(self, m: Module) -> None:
        request, bits = self.requests.payload, self.params.offset_bits
        piece = data_register(m, self.pieces.payload)
        held = Signal()  # something is left of a request
        address = Signal(62, reset_less=True)  # first dword that is left
        skip = Signal(2, reset_less=True)
        left = Signal(len(request.bytes), reset_less=True)  # bytes that are left, less one
        user = Signal(self.params.user_bits, reset_less=True)
        room = Signal(bits)  # dwords up to the next cut, less one
        beyond = Signal()  # more than that is left
        mask = self.mask(m)
        free = ~self.pieces.valid | self.pieces.ready
        m.d.comb += [
            room.eq(~address[:bits] & mask),
            beyond.eq(left[2:] > room),
            self.requests.ready.eq(~held | (free & ~beyond)),
        ]
        with m.If(free):
            m.d.sync += [
                self.pieces.valid.eq(held),
                piece.address.eq(address),
                piece.skip.eq(skip),
                piece.bytes.eq(Mux(beyond, (room + 1) << 2, (left + 1)[: len(piece.bytes)])),
                piece.last.eq(~beyond),
                piece.user.eq(user),
            ]
        # ``skip`` - 1, looked up, so that ``left`` needs one sum instead of two.
        before = looked_up(lambda skipped: skipped - 1, request.address[:2], bits=3)
        # -(room + 1), so that what is left after a piece needs one sum.
        less = Cat(~room, Const(-1, len(left) - 2 - bits))
        with m.If(self.requests.ready):
            m.d.sync += [
                held.eq(self.requests.valid),
                address.eq(request.address[2:]),
                skip.eq(request.address[:2]),
                left.eq((request.bytes + before.as_signed())[: len(left)]),
                user.eq(request.user),
            ]
        with m.Elif(free):
            m.d.sync += [
                address.eq(((address | mask) + 1)[: len(address)]),
                skip.eq(0),
                left[2:].eq((left[2:] + less)[: len(less)]),
            ]
        expect(
            m,
            self,
            has_1_to_4096_bytes=lambda: (
                ~self.requests.valid | (request.bytes.any() & (request.bytes <= 4096))
            ),
        )

    def mask(self, m: Module) -> Signal:
        """Return the mask of a dword's number in the largest piece that the host allows."""
        mask = Signal(self.params.offset_bits)
        with m.Switch(self.limit):
            for k, size in enumerate(SIZES):
                with m.Case(k):
                    m.d.sync += mask.eq((min(size, self.params.most) >> 2) - 1)
            with m.Default():  # reserved
                m.d.sync += mask.eq((SIZES[0] >> 2) - 1)
        return mask
