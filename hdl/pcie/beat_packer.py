"""Packs the data of reads, which comes in parts of any length, into full beats."""

from operator import eq, gt

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from hdl.common.arithmetic import data_register, looked_up, rotated
from hdl.common.component import Component
from hdl.common.params import Params, choice, whole
from hdl.pcie.axis import DATA_BITS
from hdl.pcie.descriptors import Cause

SKIPPED = 32  #: bytes, less than which can be skipped at a part's begin


class BeatPackerParams(Params, suffix="{data_bits}_u{user_bits}"):
    """Sets the width of a beat, of the user's bits that go with it, and of what is packed."""

    data_bits: int = choice(*DATA_BITS, default=512)  #: width of a beat
    user_bits: int = whole(1, 32, default=8)  #: width of the user's bits, given with the last part
    unit_bytes: int = choice(1, 4, default=4, tag="_of{}")  #: bytes of a unit, a dword or a byte

    @property
    def lanes(self) -> int:
        """Return the units of a beat."""
        return self.data_bits // (8 * self.unit_bytes)

    @property
    def lane_bits(self) -> int:
        """Return the width of a unit's number in a beat."""
        return ceil_log2(self.lanes)

    @property
    def part(self) -> data.StructLayout:
        """Describe a part: ``count`` units from ``skip`` on; ``ends`` marks a block's last."""
        return data.StructLayout(
            {
                "data": self.data_bits,
                "skip": ceil_log2(SKIPPED // self.unit_bytes),
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
    """Joins the units of ``parts`` into ``beats`` without a gap, up to the part that ``ends``.

    The part after it begins a new beat, in unit ``first``, which may change while no part is
    inside. All beats but the last one are full; ``bytes`` includes the units below ``first``,
    whose contents are undefined. If a part has a ``cause``, the beat that it completes and all
    later ones up to ``last`` have the cause of the first such part.

    Throughput: a part a cycle; a part that ends and fills two beats takes two. Latency:
    :attr:`latency`. Stalls: ``parts`` wait for ``beats``.
    """

    latency = 1

    def __init__(self, params: BeatPackerParams) -> None:
        super().__init__(
            params,
            first=In(params.lane_bits),
            parts=In(stream.Signature(params.part)),
            beats=Out(stream.Signature(params.beat)),
        )

    def build(self, m: Module) -> None:
        lanes, bits, size = self.params.lanes, self.params.lane_bits, self.params.unit_bytes * 8
        part, beat = self.parts.payload, data_register(m, self.beats.payload)
        free, second = Signal(), Signal()
        inside = Signal()  # a beat has begun
        fill = Signal(bits)  # units that wait for the beat to fill
        rest = Signal(self.params.data_bits, reset_less=True)  # their data
        failed = Signal(Cause)  # cause of earlier parts since the last end
        total = fill + part.count
        few, full = part.count[:bits], part.count[bits]
        # The last part does not fit the beat that was begun, so it fills two.
        over = Signal()
        ends = part.ends & (~over | second)
        turned = rotated(part.data, (fill - part.skip)[:bits], size)
        words = (
            Mux(fill > k, rest.word_select(k, size), turned.word_select(k, size))
            for k in range(lanes)
        )
        packed = Signal(self.params.data_bits)
        cause = Mux(failed != Cause.NONE, failed, part.cause)
        room, some = Signal(bits), Signal()  # units that fit the beat; whether some have come
        to_end = (-self.first)[:bits]
        # ``few`` is larger than the room: by pairs of bits, without a carry chain.
        *low, high = ((few[k : k + 2], room[k : k + 2]) for k in range(0, bits, 2))
        much = Const(0)
        for pair in low:
            much = looked_up(gt, *pair) | (looked_up(eq, *pair) & much)
        most = looked_up(lambda a, b, full, some: some and (full or a > b), *high, full, some)
        same = looked_up(lambda a, b, some: some and a == b, *high, some)
        m.d.comb += [
            over.eq(most | (same & much)),
            packed.eq(Cat(words)),
            free.eq(~self.beats.valid | self.beats.ready),
            self.parts.ready.eq(free & (~part.ends | ends)),
        ]
        with m.If(free):
            m.d.sync += [
                self.beats.valid.eq(self.parts.valid & (total[bits] | part.ends)),
                beat.data.eq(Mux(second, turned, packed)),
                beat.bytes.eq(
                    Cat(
                        Const(0, ceil_log2(size // 8)),
                        Mux(total[bits] & ~second, lanes, total[:bits]),
                    )
                ),
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
                m.d.sync += [fill.eq(self.first), room.eq(to_end), some.eq(self.first.any())]
            with m.Elif(~part.ends):
                m.d.sync += [
                    fill.eq(total[:bits]),
                    room.eq((room - part.count)[:bits]),
                    some.eq(total[:bits].any()),
                    rest.eq(Mux(total[bits], turned, packed)),
                ]
        with m.Elif(~self.parts.valid & ~inside):
            m.d.sync += [fill.eq(self.first), room.eq(to_end), some.eq(self.first.any())]
