"""Aligns a frame's numbers, which begin in the middle of a beat, to the beats of a bank."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from hdl.allreduce.frame import HEADER_BYTES, WideFrame
from hdl.allreduce.switch_params import IN_FIRST, LANES, AllReduceSwitchParams
from hdl.common.component import Component
from hdl.common.streams import stream_ports
from hdl.switch.frame_format import copied
from hdl.switch.slots import PAYLOAD_BITS


class NumberAligner(Component):
    """Passes the numbers of frames on, 16 in each beat but the last, with the frame's header.

    A frame's first beat in ``i`` has 8 numbers behind the header. Numbers beyond the header's count
    are 0 in ``o``; a frame without numbers becomes a beat of zeros.

    Throughput: a beat a cycle; a frame whose last numbers, 8 at most, begin in the middle of its
    last beat takes a cycle more. Latency: none. A beat of ``o`` comes with the latest of its
    numbers. Stalls: ``i.ready`` follows ``o.ready``.
    """

    latency = 0

    def __init__(self, params: AllReduceSwitchParams) -> None:
        super().__init__(params, stream_ports(params.beat, params.aligned))

    def elaborate(self, platform) -> Module:
        m = Module()
        i, o, out = self.i, self.o, self.o.payload
        words, half = i.payload.data, IN_FIRST * PAYLOAD_BITS
        frame = data.View(WideFrame, words[: 8 * HEADER_BYTES])
        kept = Signal(self.params.aligned, reset_less=True)  # header, sender and number of a beat
        held = Signal(half, reset_less=True)  # numbers that came with the beat before
        left = Signal.like(out.header.count, reset_less=True)  # numbers of this beat and later ones
        inside, tail = Signal(), Signal()  # a frame has begun; its last numbers are in ``held``
        begins, short = Signal(), Signal()
        count = Signal.like(left)
        m.d.comb += [
            begins.eq(~inside & ~tail),
            short.eq(begins & at_most(frame.count, IN_FIRST)),
            count.eq(Mux(begins, frame.count[: len(count)], left)),
            out.number.eq(Mux(begins, 0, kept.number)),
            out.last.eq(at_most(count, LANES)),
            o.valid.eq(tail | (i.valid & (inside | short))),
            i.ready.eq(~tail & (o.ready | ~(inside | short))),
        ]
        with m.If(begins):
            m.d.comb += [*copied(out.header, frame), out.sender.eq(i.payload.sender)]
        with m.Else():
            m.d.comb += [out.header.eq(kept.header), out.sender.eq(kept.sender)]
        numbers = Cat(Mux(begins, words[half:], held), Mux(inside, words[:half], 0))
        for k, number in enumerate(out.numbers):
            counted = count[4:].any() | (count[:4] > k)
            m.d.comb += number.eq(Mux(counted, numbers.word_select(k, PAYLOAD_BITS), 0))
        with m.If(i.valid & i.ready):
            m.d.sync += [held.eq(words[half:]), inside.eq(~i.payload.last)]
            with m.If(begins):
                m.d.sync += [
                    kept.header.eq(out.header),
                    kept.sender.eq(out.sender),
                    kept.number.eq(0),
                    left.eq(count),
                ]
        with m.If(o.valid & o.ready & ~begins):
            m.d.sync += [kept.number.eq(kept.number + 1), left.eq(left - LANES)]
            m.d.sync += tail.eq(inside & i.payload.last & ~out.last)
        return m


def at_most(count: Value, power: int) -> Value:
    """Return whether ``count`` is at most a power of two, without a carry chain."""
    bit = power.bit_length() - 1
    return ~(count[bit + 1 :].any() | (count[bit] & count[:bit].any()))
