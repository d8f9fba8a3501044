"""Packs the data of reads, which comes in parts of any length, into full beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from hdl.common.arithmetic import data_register, looked_up, rotated
from hdl.common.component import Component
from hdl.common.params import Params, choice, whole
from hdl.pcie.axis import DATA_BITS
from hdl.pcie.descriptors import DWORD_BITS, Cause

SKIP_BITS = 3  #: width of the number of dwords to be skipped at a part's begin


class BeatPackerParams(Params, suffix="{data_bits}_u{user_bits}"):
    """Sets the width of a beat, and of the user's bits that go with it."""

    data_bits: int = choice(*DATA_BITS, default=512)  #: width of a beat
    user_bits: int = whole(1, 32, default=8)  #: width of the user's bits, given with the last part

    @property
    def lanes(self) -> int:
        """Return the dwords of a beat."""
        return self.data_bits // DWORD_BITS

    @property
    def lane_bits(self) -> int:
        """Return the width of a dword's number in a beat."""
        return ceil_log2(self.lanes)

    @property
    def part(self) -> data.StructLayout:
        """Describe a part: ``count`` dwords from ``skip`` on; ``ends`` marks a block's last."""
        return data.StructLayout(
            {
                "data": self.data_bits,
                "skip": SKIP_BITS,
                "count": bits_for(self.lanes),
                "ends": 1,
                "user": self.user_bits,
                "cause": Cause,
            }
        )

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat, of which the lowest ``bytes`` bytes are valid."""
        return data.StructLayout(
            {
                "data": self.data_bits,
                "bytes": bits_for(self.data_bits // 8),
                "last": 1,
                "user": self.user_bits,
                "cause": Cause,
            }
        )


class BeatPacker(Component):
    """Joins the dwords of ``parts`` into ``beats`` without a gap, up to the part that ``ends``.

    The part after it begins a new beat, in dword ``first``, which may change while no part is
    inside. All beats but the last one are full; ``bytes`` includes the dwords below ``first``,
    whose contents are undefined. If a part has a ``cause``, the beat that it completes and all
    later ones up to ``last`` have the cause of the first such part.

    Throughput: a part a cycle; a part that ends and fills two beats takes two. Latency:
    :attr:`latency`. Stalls: ``parts`` wait for ``beats``.
    """

    latency = 1

    def __init__(self, params: BeatPackerParams) -> None:
        super().__init__(
            params,
            {
                "first": In(params.lane_bits),
                "parts": In(stream.Signature(params.part)),
                "beats": Out(stream.Signature(params.beat)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        lanes, bits = self.params.lanes, self.params.lane_bits
        part, beat = self.parts.payload, data_register(m, self.beats.payload)
        free, second = Signal(), Signal()
        inside = Signal()  # a beat has begun
        fill = Signal(bits)  # dwords that wait for the beat to fill
        rest = Signal(lanes * DWORD_BITS, reset_less=True)  # their data
        failed = Signal(Cause)  # cause of earlier parts since the last end
        total = fill + part.count
        few, full = part.count[:bits], part.count[bits]
        # The last part does not fit the beat that was begun, so it fills two.
        over = Signal()
        ends = part.ends & (~over | second)
        turned = rotated(part.data, (fill - part.skip)[:bits], DWORD_BITS)
        words = (
            Mux(fill > k, rest.word_select(k, DWORD_BITS), turned.word_select(k, DWORD_BITS))
            for k in range(lanes)
        )
        packed = Signal(lanes * DWORD_BITS)
        cause = Mux(failed != Cause.NONE, failed, part.cause)
        m.d.comb += [
            over.eq(
                looked_up(lambda fill, few: fill + few > lanes, fill, few) | (full & fill.any())
            ),
            packed.eq(Cat(words)),
            free.eq(~self.beats.valid | self.beats.ready),
            self.parts.ready.eq(free & (~part.ends | ends)),
        ]
        with m.If(free):
            m.d.sync += [
                self.beats.valid.eq(self.parts.valid & (total[bits] | part.ends)),
                beat.data.eq(Mux(second, turned, packed)),
                beat.bytes.eq(Cat(Const(0, 2), Mux(total[bits] & ~second, lanes, total[:bits]))),
                beat.last.eq(ends),
                beat.user.eq(part.user),
                beat.cause.eq(cause),
            ]
        with m.If(free & self.parts.valid):
            m.d.sync += [
                inside.eq(~ends),
                second.eq(part.ends & ~ends),
                failed.eq(Mux(ends, Cause.NONE, cause)),
            ]
            with m.If(ends):
                m.d.sync += fill.eq(self.first)
            with m.Elif(~part.ends):
                m.d.sync += [fill.eq(total[:bits]), rest.eq(Mux(total[bits], turned, packed))]
        with m.Elif(~self.parts.valid & ~inside):
            m.d.sync += fill.eq(self.first)
        return m
