"""Reads frames: the header comes with each beat, and words that are no numbers are 0."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data

from hdl.allreduce.frame import HEADER_BYTES, HEADER_WORDS, WideFrame, trailer_word
from hdl.allreduce.switch_params import LANES, AllReduceSwitchParams
from hdl.common.component import Component
from hdl.common.streams import stream_ports
from hdl.switch.frame_format import copied
from hdl.switch.slots import PAYLOAD_BITS


class FrameReader(Component):
    """Passes each beat of a frame on with its number, the frame's header, and numbers as they lie.

    Number j of a frame is its word HEADER_WORDS + j. Header, trailer and padding are 0 in ``o``.

    Throughput: a beat a cycle. Latency: none. Stalls: ``i.ready`` is ``o.ready``.
    """

    latency = 0

    def __init__(self, params: AllReduceSwitchParams) -> None:
        super().__init__(params, stream_ports(params.beat, params.numbers))

    def build(self, m: Module) -> None:
        i, o, out = self.i, self.o, self.o.payload
        frame = data.View(WideFrame, i.payload.data[: 8 * HEADER_BYTES])
        header = Signal(out.header.shape(), reset_less=True)  # of the frame inside
        inside, number = Signal(), Signal.like(out.number)
        m.d.comb += [
            o.valid.eq(i.valid),
            i.ready.eq(o.ready),
            out.sender.eq(i.payload.sender),
            out.last.eq(i.payload.last),
            out.number.eq(number),
        ]
        with m.If(inside):
            m.d.comb += out.header.eq(header)
        with m.Else():
            m.d.comb += copied(out.header, frame)
        end = trailer_word(out.header.count[: LANES.bit_length() - 1])  # in the last beat
        for k, value in enumerate(out.numbers):
            counted = ~i.payload.last | (end > k)
            if k < HEADER_WORDS:
                counted &= inside
            word = i.payload.data.word_select(k, PAYLOAD_BITS)
            m.d.comb += value.eq(Mux(counted, word, 0))
        with m.If(i.valid & i.ready):
            m.d.sync += [inside.eq(~i.payload.last), header.eq(out.header)]
            m.d.sync += number.eq(Mux(i.payload.last, 0, number + 1))
