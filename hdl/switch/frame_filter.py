"""Checks frames of a format as they come from the MAC: length, fixed fields, checksum."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.switch.frame_format import FrameFormat


class Quality(enum.Enum, shape=2):
    """Says whether a packet is a frame of the format; if several apply, the last one counts."""

    GOOD = 0
    MALFORMED = 1  #: it is too short or too long, or has bits set that must be zero
    FOREIGN = 2  #: it has another destination or protocol
    CORRUPT = 3  #: its checksum is wrong


def word_layout(params: FrameFormat) -> data.StructLayout:
    """Describe a beat of a frame of several beats; ``keep`` has the valid bytes of the last one."""
    return data.StructLayout({"data": params.data_bits, "keep": params.beat_bytes, "last": 1})


class FrameFilter(Component):
    """Checks every packet on ``axis`` and reports it once: ``valid`` is high for a cycle.

    ``frame`` is the packet's first beat, and ``quality`` the verdict. A packet is reported with its
    last beat. ``address`` is the switch's own; a packet to another destination is foreign. A packet
    that is longer than the format's frames is malformed, unless its first beat makes it foreign. A
    packet shorter than its header is malformed, and so is one whose last beat has no byte, or which
    lacks bytes before its end. If a reset comes in the middle of a packet, the rest of that packet
    is reported as malformed; if no rest comes, the next packet is.

    If a frame's fields tell its length (:meth:`FrameFormat.last_byte`), one of another length is
    malformed. If frames may have several beats, each beat is passed on as ``word`` with ``write``,
    the last one in the cycle of ``valid``, for a :class:`hdl.common.packet_buffer.PacketBuffer`. Of
    a packet that is too long, only as many beats are passed on as the longest frame has.

    If frames may have ``more_bytes``, ``longer`` says that a frame has them, and ``more`` has their
    values.

    Throughput: a beat a cycle, ``axis.tready`` is always high, as a MAC cannot wait. Latency:
    :attr:`latency`.
    """

    latency = 1

    def __init__(self, params: FrameFormat) -> None:
        words = {"write": Out(1), "word": Out(word_layout(params))} if params.beats > 1 else {}
        more = {"longer": Out(1), "more": Out(8 * params.more_bytes)} if params.more_bytes else {}
        super().__init__(
            params,
            axis=In(params.axis),
            address=In(48),
            valid=Out(1),
            quality=Out(Quality),
            frame=Out(params.first),
            **words,
            **more,
        )

    def build(self, m: Module) -> None:
        axis, params = self.axis, self.params
        frame = Signal(params.first)
        inside = Signal(reset_less=True)
        foreign_before = Signal(reset_less=True)
        short_before = Signal(reset_less=True)
        foreign = Signal()
        short = Signal()
        malformed = Signal()
        m.d.comb += [
            axis.tready.eq(1),
            frame.eq(axis.tdata[: params.first.as_shape().size]),
            short.eq(~axis.tkeep[params.header_bytes - 1]),
            foreign.eq(params.is_foreign(frame, self.address)),
        ]
        wrong = params.is_wrong(frame)
        if params.beats == 1 and params.least_bytes == params.max_bytes:
            strange = axis.tkeep != params.keep
            if params.more_bytes:
                strange &= self.look_for_more(m)
            m.d.comb += malformed.eq(inside | strange | wrong)
        else:
            # Beats of the packet so far, at most ``params.beats``.
            before = Signal(range(params.beats + 1), reset_less=True)
            broken = self.measure(m, inside, wrong, before)
            last = params.last_byte(frame)
            elsewhere = 0 if last is None else self.ends_elsewhere(m, inside, last, before)
            m.d.comb += malformed.eq(broken | elsewhere)
        with m.If(inside):
            m.d.comb += [foreign.eq(foreign_before), short.eq(short_before)]
        with m.If(axis.tvalid):
            m.d.sync += [
                inside.eq(~axis.tlast),
                foreign_before.eq(foreign),
                short_before.eq(short),
            ]
            with m.If(~inside):
                m.d.sync += self.frame.eq(frame)
        m.d.sync += self.valid.eq(axis.tvalid & axis.tlast)
        with m.If(axis.tuser):
            m.d.sync += self.quality.eq(Quality.CORRUPT)
        with m.Elif(foreign & ~short):
            m.d.sync += self.quality.eq(Quality.FOREIGN)
        with m.Elif(malformed):
            m.d.sync += self.quality.eq(Quality.MALFORMED)
        with m.Else():
            m.d.sync += self.quality.eq(Quality.GOOD)

    def look_for_more(self, m: Module) -> Value:
        """Register the further bytes of a frame; return whether its length is any other."""
        axis, params = self.axis, self.params
        begin, end = 8 * params.max_bytes, 8 * params.longest_bytes
        long = axis.tkeep == params.longest_keep
        with m.If(axis.tvalid):
            m.d.sync += [self.longer.eq(long), self.more.eq(axis.tdata[begin:end])]
        return ~long

    def ends_elsewhere(self, m: Module, inside: Signal, last: Value, before: Signal) -> Value:
        """Return whether this beat, if it is the packet's last, does not end with byte ``last``.

        ``last`` comes with the packet's first beat.
        """
        axis, bits = self.axis, ceil_log2(self.params.beat_bytes)
        stored, current = Signal.like(last, reset_less=True), Signal.like(last)
        m.d.comb += current.eq(Mux(inside, stored, last))
        with m.If(axis.tvalid):
            m.d.sync += stored.eq(current)
        ends = axis.tkeep & ~(axis.tkeep >> 1)
        return (before != current[bits:]) | ~ends.bit_select(current[:bits], 1)

    def measure(self, m: Module, inside: Signal, wrong: Value, before: Signal) -> Value:
        """Return whether a packet that ends with this beat is malformed.

        ``wrong`` says so of a first beat, and is kept until the packet's end.
        """
        axis, params = self.axis, self.params
        keep, beats = axis.tkeep, params.beats
        broken_before = Signal(init=1)  # the rest of a packet cut by a reset is malformed
        broken = Signal()
        m.d.comb += broken.eq(
            Mux(inside, broken_before, wrong | ~keep[params.least_bytes - 1])
            | ~keep[0]
            | (keep[1:] & ~keep[:-1]).any()
            | (~axis.tlast & ~keep.all())
            | ((before == beats - 1) & (~axis.tlast | keep[params.keep.bit_length() :].any()))
        )
        with m.If(axis.tvalid):
            m.d.sync += broken_before.eq(broken)
            with m.If(axis.tlast):
                m.d.sync += before.eq(0)
            with m.Elif(before != beats):
                m.d.sync += before.eq(before + 1)
        if beats > 1:
            word = Signal(word_layout(params), reset_less=True)
            m.d.comb += self.word.eq(word)
            m.d.sync += [
                self.write.eq(axis.tvalid & (before != beats)),
                word.data.eq(axis.tdata),
                word.keep.eq(keep),
                word.last.eq(axis.tlast),
            ]
        return broken
