"""The property requests of a packet, one after another."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.concat.deconcatenator_params import LANES, PR_LANES, DeconcatenatorParams
from hdl.netsparse.concat.packet_verdict import header_of
from hdl.netsparse.protocol import (
    AXIS,
    BEAT_BYTES,
    LENGTH_BITS,
    PR_LAYER,
    Kind,
    in_lanes,
)


class Unpacker(Component):
    """Cuts good packets into PRs.

    ``words`` are their beats, with tlast above the data. Behind a packet's first beat, PRs stand
    without gaps, at any even byte: a window of ``params``' most lanes moves over as many beats
    as it can touch. One more lets ``words.ready`` depend on registers only, and yet one more, of
    responses, makes up for the cycles of first words.

    Throughput: a beat in every cycle, unless PRs are too many: a beat of ``prs`` every cycle.
    Latency: :attr:`latency`, from a packet's first word, to its first PR. Full: ``words`` wait.
    """

    latency = 4

    def __init__(self, params: DeconcatenatorParams) -> None:
        super().__init__(
            params,
            {
                "words": In(stream.Signature(AXIS.data_bits + 1)),
                "node": In(32),
                "prs": Out(stream.Signature(params.beat)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        span = (2 * LANES + params.most_lanes - 2) // LANES  # beats that a beat of a PR touches
        slot = data.StructLayout({"context": params.context, "data": AXIS.data_bits})
        places = span + 1 + params.payload
        count = Signal(range(places + 1))  # of slots in use, from 0
        slots = [Signal(slot, name=f"slot_{k}", reset_less=True) for k in range(places)]
        new = Signal(slot)
        push = Signal()
        self.take_words(m, new, push, room=count != places)

        touched = Signal(range(span + 1))  # beats, by the next beat of a PR
        passed = Signal(range(span + 1))  # beats that are used up after it
        leaves = Signal()
        shift = Signal(range(span + 1))
        m.d.comb += shift.eq(Mux(leaves, passed, 0))
        m.d.sync += count.eq(count - shift + push)
        for k, register in enumerate(slots):
            # Beats move up to the front; the new one goes behind the last that stays.
            with m.Switch(shift):
                for by in range(span + 1):
                    with m.Case(by):
                        moved = slots[k + by] if k + by < places else new
                        stays = count > k + by
                        m.d.sync += register.eq(Mux(stays, moved.as_value(), new.as_value()))
        free = Signal()
        begins = Signal(reset_less=True)  # the beat is its PR's first
        at = Signal(range(LANES), reset_less=True)
        beat = Signal(params.beat, reset_less=True)
        m.d.comb += [self.prs.payload.eq(beat), self.prs.payload.dest.eq(self.node)]
        m.d.comb += free.eq(~self.prs.valid | self.prs.ready)
        self.walk(m, slots, count, at, begins, touched, passed, leaves, free, beat)
        window = Cat(register.data for register in slots[:span]) >> Cat(Const(0, 4), at)
        with m.If(free):
            m.d.sync += self.prs.valid.eq(leaves)
        with m.If(leaves):
            self.cut_out(m, window, begins, beat)
        return m

    def take_words(self, m: Module, new: Any, push: Signal, room: Value) -> None:
        """First words give the context of those behind them, which are ``new``."""
        header = header_of(self.words.payload[:-1])
        length = header.concatenation.len[:LENGTH_BITS]
        is_first = Signal(init=1)
        context = Signal(self.params.context, reset_less=True)
        m.d.comb += [
            self.words.ready.eq(room),
            push.eq(self.words.valid & room & ~is_first),
            new.context.eq(context),
            new.data.eq(self.words.payload),
        ]
        with m.If(self.words.valid & room):
            m.d.sync += is_first.eq(self.words.payload[-1])
            with m.If(is_first):
                m.d.sync += [context.length.eq(length), context.prs.eq(header.concatenation.prs)]
                if self.params.payload:
                    error = header.concatenation.type == Kind.ERROR.value
                    least = Mux(length > BEAT_BYTES, BEAT_BYTES, length)[1:]
                    m.d.sync += [
                        context.error.eq(error),
                        context.lanes.eq(PR_LANES + Mux(error, 0, least)),
                    ]

    def walk(self, m, slots, count, at, begins, touched, passed, leaves, free, beat) -> None:
        """Where the next beat of a PR is, and whether it leaves now."""
        payload = self.params.payload
        context = Signal(self.params.context, reset_less=True)
        active = Signal()  # the first slot's packet is the context's
        left = Signal(len(context.prs), reset_less=True)  # PRs, this one included
        end = Signal(range(LANES + self.params.most_lanes), reset_less=True)  # lane behind it
        rest = Signal(LENGTH_BITS, reset_less=True)  # bytes of the property, from this beat on
        last = Signal()  # beat of its PR
        done = Signal()  # packet
        over = Signal()  # lanes of it are in the beat where it ends
        m.d.comb += [
            over.eq(end[:5].any()),
            touched.eq(end[5:] + over),
            last.eq(rest <= BEAT_BYTES if payload else 1),
            done.eq(last & (left == 1)),
            passed.eq(Mux(done, touched, end[5:])),
            leaves.eq(active & free & (count >= touched)),
        ]
        # The packet behind, if it is here already, otherwise when it comes.
        follows = Signal(self.params.context)
        m.d.comb += follows.eq(slots[0].context)
        with m.If(active), m.Switch(passed):
            for by in range(1, len(slots) - payload):
                with m.Case(by):
                    m.d.comb += follows.eq(slots[by].context)
        lanes = follows.lanes if payload else PR_LANES
        with m.If(Mux(active, leaves & done, count != 0)):
            m.d.sync += [
                active.eq(~active | (count > passed)),
                context.eq(follows),
                left.eq(follows.prs),
                at.eq(0),
                end.eq(lanes),
                begins.eq(1),
            ]
            if payload:
                m.d.sync += rest.eq(Mux(follows.error, 0, follows.length))
        with m.Elif(leaves):
            m.d.sync += [at.eq(end[:5]), begins.eq(last)]
            if not payload:
                m.d.sync += [end.eq(end[:5] + PR_LANES), left.eq(left - 1)]
            else:
                further = Signal(LENGTH_BITS)
                lanes = Mux(further > BEAT_BYTES, BEAT_BYTES, further)[1:]
                m.d.comb += further.eq(rest - BEAT_BYTES)
                m.d.sync += [
                    end.eq(end[:5] + Mux(last, context.lanes, lanes)),
                    rest.eq(Mux(last, context.length, further)),
                    left.eq(left - last),
                ]
        with m.If(leaves):
            m.d.sync += beat.length.eq(context.length)
            if payload:
                m.d.sync += [beat.error.eq(context.error), beat.last.eq(last)]

    def cut_out(self, m: Module, window: Value, begins: Signal, beat: Any) -> None:
        """The PR at the start of ``window``, or the next part of its property."""
        with m.If(begins):
            m.d.sync += beat.pr.eq(in_lanes(window[: PR_LAYER.size]))
        if self.params.payload:
            behind = window[PR_LAYER.size :][: AXIS.data_bits]
            m.d.sync += beat.data.eq(Mux(begins, behind, window[: AXIS.data_bits]))
