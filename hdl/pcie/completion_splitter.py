"""Splits beats of RC, in each of which several completions may begin and end."""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register
from hdl.common.component import Component
from hdl.common.streams import StreamRegister
from hdl.pcie.axis import PcieStreamSignature, beat_layout, rc_user
from hdl.pcie.descriptors import COMPLETION, COMPLETION_DWORDS
from hdl.pcie.params import ReadRequesterParams


class CompletionSplitter(Component):
    """Splits beats of ``rc`` into ``steps``: the rest of one completion, the begin of the next.

    A beat in which several completions begin takes a step for each. A completion of 10 dwords or
    more takes, with its descriptor, at least the four segments of a beat of 512 bits, so at most
    one of those begins in a beat.

    Throughput: a step a cycle. Latency: :attr:`latency`. Stalls: ``rc`` waits; ``rc.tready`` is a
    register.
    """

    latency = 2

    def __init__(self, params: ReadRequesterParams) -> None:
        user = rc_user(params.data_bits)
        super().__init__(
            params,
            rc=In(PcieStreamSignature(data_bits=params.data_bits, user=user)),
            steps=Out(stream.Signature(params.step)),
        )

    def build(self, m: Module) -> None:
        params, count = self.params, self.params.packets
        inside = Signal()  # a completion goes on from the previous beat
        index = Signal(range(count))  # which of those that begin is next
        valid, beat, ready = self.take(m, inside)
        step, steps = Signal(params.step), data_register(m, self.steps.payload)
        # If a tail ends in this beat, entry 0 of ``ends`` is its end, and the heads' ends follow.
        head_ends = Mux(inside, Array([*list(beat.ends)[1:], 0])[index], Array(beat.ends)[index])
        head_end = Mux(
            inside,
            Array([*list(beat.end_dword)[1:], 0])[index],
            Array(beat.end_dword)[index],
        )
        descriptor = Signal(COMPLETION)
        last = Mux(step.head.ends, head_end, params.lanes - 1)
        segment = Array(beat.start_segment[k] for k in range(count))[index]
        m.d.comb += [
            step.data.eq(beat.data),
            step.corrupt.eq(beat.discontinue),
            step.tail.valid.eq(inside & (index == 0)),
            step.tail.ends.eq(step.tail.valid & beat.ends[0]),
            step.tail.count.eq(
                Mux(step.tail.valid, Mux(beat.ends[0], beat.end_dword[0] + 1, params.lanes), 0)
            ),
            step.head.valid.eq(Array(beat.starts)[index]),
            step.head.segment.eq(segment),
            step.head.ends.eq(step.head.valid & head_ends),
            step.head.count.eq(
                Mux(step.head.valid, last - Cat(Const(COMPLETION_DWORDS - 1, 2), segment), 0)
            ),
            descriptor.eq(
                Array(Cat(beat.data[4 * k : 4 * k + COMPLETION_DWORDS]) for k in range(count))[
                    segment
                ]
            ),
            step.head.descriptor.eq(descriptor),
            step.head.remaining.eq(descriptor.remaining[2:] + descriptor.remaining[:2].any()),
        ]
        more = Array(beat.starts[k] if k < count else 0 for k in range(count + 1))[index + 1]
        m.d.comb += ready.eq((~self.steps.valid | self.steps.ready) & ~(valid & more))
        with m.If(~self.steps.valid | self.steps.ready):
            m.d.sync += [self.steps.valid.eq(valid), steps.eq(step)]
            with m.If(valid):
                m.d.sync += index.eq(Mux(more, index + 1, 0))
                with m.If(~more):
                    m.d.sync += inside.eq(
                        Mux(step.head.valid, ~step.head.ends, step.tail.valid & ~step.tail.ends)
                    )

    def take(self, m: Module, inside: Value) -> tuple[Value, Any, Signal]:
        """Return whether a beat is there, the beat in the layout of both widths, and its ready."""
        data_bits = self.params.data_bits
        rc, layout = self.rc, rc_user(data_bits)
        shape = data.StructLayout({"data": data_bits, "user": layout})
        m.submodules.register = register = StreamRegister.sized(shape=shape)
        beat = Signal(beat_layout(data_bits))
        user = register.o.payload.user
        m.d.comb += [
            register.i.payload.data.eq(rc.tdata),
            register.i.payload.user.eq(rc.tuser),
            register.i.valid.eq(rc.tvalid),
            rc.tready.eq(register.i.ready),
            beat.data.eq(register.o.payload.data),
            beat.starts.eq(user.starts),
            beat.discontinue.eq(user.discontinue),
        ]
        if data_bits == 256:
            m.d.comb += [
                beat.start_segment[0].eq(inside),
                beat.start_segment[1].eq(1),
                beat.ends.eq(Cat(end.valid for end in user.ends)),
                *(beat.end_dword[k].eq(user.ends[k].dword) for k in range(self.params.packets)),
            ]
        else:
            m.d.comb += [
                beat.start_segment.eq(user.start_segment),
                beat.ends.eq(user.ends),
                beat.end_dword.eq(user.end_dword),
            ]
        return register.o.valid, beat, register.o.ready
