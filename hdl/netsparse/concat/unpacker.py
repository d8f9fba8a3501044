"""Unpacks the property requests of a packet, one after another."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import looked_up, low_bits, over
from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT_BYTES, in_lanes
from hdl.netsparse.concat.beat_ring import BeatRing
from hdl.netsparse.concat.deconcatenator_params import LANES, PR_LANES, DeconcatenatorParams
from hdl.netsparse.concat.packet_verdict import header_of
from hdl.netsparse.protocol import LENGTH_BITS, Kind


class Unpacker(Component):
    """Cuts good packets into PRs.

    ``words`` are their beats, with tlast above the data, and above that the packet's tag, which is
    ``prs_tag`` while the packet's PRs are at ``prs``. After a packet's first beat PRs follow
    without gaps, at any even byte: a window of at most ``params.max_lanes`` lanes moves over as
    many beats as it can touch. One more place lets ``words.ready`` depend only on registers, and
    for responses another one makes up for the cycles of first words.

    Throughput: a beat of ``words`` and a beat of ``prs`` every cycle; the slower one limits.
    Latency: :attr:`latency`, from a packet's first word, to its first PR. Full: ``words`` wait.
    """

    latency = 4

    def __init__(self, params: DeconcatenatorParams) -> None:
        super().__init__(
            params,
            words=In(stream.Signature(params.word_bits)),
            **params.node_port,
            prs=Out(stream.Signature(params.beat)),
            **({"prs_tag": Out(params.tag_bits)} if params.tag_bits else {}),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.ring = ring = BeatRing(params)
        count = Signal(range(params.places + 1))  # number of beats in the ring
        begins_packet = Signal()
        follows = self.take_words(m, ring, begins_packet, room=count != params.places)

        passed = Signal(range(params.span + 1))  # beats that are used up by the next beat of a PR
        leaves = Signal()
        m.d.comb += ring.drops.eq(Mux(leaves, passed, 0))
        m.d.sync += count.eq(
            looked_up(lambda c, d, p: c - d + p, count, ring.drops, ring.push, bits=len(count))
        )
        free = Signal()
        begins = Signal(reset_less=True)  # the beat is its PR's first
        beat = Signal(params.beat, reset_less=True)
        m.d.comb += [
            self.prs.payload.eq(beat),
            free.eq(~self.prs.valid | self.prs.ready),
        ]
        if not params.any_dest:
            m.d.comb += self.prs.payload.dest.eq(self.node)
        self.walk(m, ring, count, follows, begins_packet, begins, passed, leaves, free, beat)
        with m.If(free):
            m.d.sync += self.prs.valid.eq(leaves)
        with m.If(leaves):
            if params.payload:
                m.d.sync += beat.data.eq(ring.data)
            with m.If(begins):
                m.d.sync += beat.pr.eq(in_lanes(ring.header))

    def take_words(self, m: Module, ring: BeatRing, next_packet: Signal, room: Value) -> Any:
        """Store the context of the packet after the current one, until ``next_packet``."""
        params = self.params
        m.submodules.contexts = contexts = Memory(
            shape=params.context,
            depth=1
            << bits_for(params.places),  # one for each beat, and one whose beats are to come
            init=[],
            attrs={"ram_style": "distributed"},
        )
        write, read = contexts.write_port(), contexts.read_port(domain="comb")
        is_first = Signal(init=1)
        header = header_of(self.words.payload[: AXIS.data_bits])
        length = header.concatenation.len[:LENGTH_BITS]
        m.d.comb += [
            self.words.ready.eq(room),
            ring.push.eq(self.words.valid & room & ~is_first),
            ring.beat.eq(self.words.payload[: AXIS.data_bits]),
            write.en.eq(self.words.valid & room & is_first),
            write.data.length.eq(length),
            write.data.prs.eq(low_bits(header.concatenation.prs, len(write.data.prs))),
        ]
        if params.any_dest:
            dest = header.concatenation.dest
            m.d.comb += write.data.dest.eq(dest[: len(write.data.dest)])
        if params.tag_bits:
            m.d.comb += write.data.tag.eq(self.words.payload[AXIS.data_bits + 1 :])
        if params.payload:
            error = header.concatenation.type == Kind.ERROR.value
            lanes = Signal.like(write.data.lanes)
            single = error | ~over(length, BEAT_BYTES)
            m.d.comb += [
                lanes.eq(low_bits(PR_LANES + Mux(error, 0, lanes_of(length, 0)), len(lanes))),
                write.data.error.eq(error),
                write.data.lanes.eq(lanes),
                write.data.single.eq(single),
                write.data.step.eq(
                    Mux(single, lanes, low_bits(lanes_of(length, BEAT_BYTES), len(lanes)))
                ),
            ]
        with m.If(self.words.valid & room):
            m.d.sync += is_first.eq(self.words.payload[AXIS.data_bits])
        for step, port in ((write.en, write), (next_packet, read)):
            at = Signal(len(port.addr), name="written" if port is write else "begun")
            m.d.comb += port.addr.eq(at)
            m.d.sync += at.eq(at + step)
        return read.data

    def walk(
        self, m, ring, count, follows, begins_packet, begins, passed, leaves, free, beat
    ) -> None:
        """Compute where the next beat of a PR is, and whether it leaves now."""
        params, payload = self.params, self.params.payload
        context = Signal(params.context, reset_less=True)
        active = Signal()  # the front beat's packet is the context's
        left = Signal(len(context.prs), reset_less=True)  # PRs, this one included
        end = Signal(range(LANES + params.max_lanes), reset_less=True)  # lane after it
        last = Signal(init=not payload)  # it is the last beat of its PR
        done = Signal()  # it is the last beat of its packet
        within = end[:5].any()  # lanes of it are in the beat where it ends
        touched = Signal(range(params.span + 1))  # number of beats touched
        turns = Signal()  # the next packet begins
        m.d.comb += [
            touched.eq(looked_up(lambda e, w: e + w, end[5:], within, bits=len(touched))),
            done.eq(last & (left == 1)),
            passed.eq(Mux(done, touched, end[5:])),
            leaves.eq(active & free & looked_up(lambda c, t: c >= t, count, touched)),
            # The next packet begins at once if it is here already, otherwise when it comes.
            turns.eq(Mux(active, leaves & done, count != 0)),
            begins_packet.eq(turns & (~active | looked_up(lambda c, p: c > p, count, passed))),
            ring.turns.eq(turns | leaves),
            ring.restarts.eq(turns),
            ring.lane.eq(end[:5]),
            ring.with_header.eq(last),
        ]
        step = self.steps(m, context, follows, turns, leaves, last) if payload else PR_LANES
        with m.If(ring.turns):
            m.d.sync += begins.eq(turns | last)
        with m.If(turns):
            m.d.sync += [
                active.eq(begins_packet),
                context.eq(follows),
                left.eq(follows.prs),
                end.eq(follows.lanes if payload else PR_LANES),
            ]
        with m.Elif(leaves):
            m.d.sync += [end.eq(low_bits(end[:5] + step, len(end))), left.eq(left - last)]
        with m.If(leaves):
            m.d.sync += beat.length.eq(context.length)
            if params.any_dest:
                m.d.sync += beat.dest.eq(context.dest)
            if params.tag_bits:
                m.d.sync += [self.prs_tag.eq(context.tag), beat.ends.eq(done)]
            if payload:
                m.d.sync += [beat.error.eq(context.error), beat.last.eq(last)]
        if params.tag_bits:
            starts = Signal(reset_less=True)  # the next beat is its packet's first
            with m.If(ring.turns):
                m.d.sync += starts.eq(turns)
            with m.If(leaves):
                m.d.sync += beat.starts.eq(starts)

    def steps(self, m: Module, context, follows, turns, leaves, last: Signal) -> Signal:
        """Count down the bytes of each property; set ``last`` with the last beat of a PR.

        Returns the lanes by which the next beat ends after the current one. Both are computed with
        the current beat, because computing them from the remaining bytes would be too late.
        """
        # Bytes of the property, from this beat on.
        rest = Signal.like(context.length, reset_less=True)
        step = Signal.like(context.step, reset_less=True)
        ending = Signal()  # the next beat is its PR's last
        m.d.comb += ending.eq(~over(rest, 2 * BEAT_BYTES))
        with m.If(turns):
            m.d.sync += [
                rest.eq(follows.length),
                last.eq(follows.single),
                step.eq(follows.step),
            ]
        with m.Elif(leaves & last):
            m.d.sync += [
                rest.eq(context.length),
                last.eq(context.single),
                step.eq(context.step),
            ]
        with m.Elif(leaves):
            m.d.sync += [
                rest.eq(rest - BEAT_BYTES),
                last.eq(ending),
                step.eq(
                    Mux(ending, context.lanes, low_bits(lanes_of(rest, 2 * BEAT_BYTES), len(step)))
                ),
            ]
        return step


def lanes_of(length: Value, offset: int) -> Value:
    """Return the lanes of the beat of a property of ``length`` that begins at byte ``offset``.

    ``offset`` is 0, 64 or 128, and less than ``length``: either the beat is full, or the bits of
    ``length`` below 64 are its number of bytes.
    """
    whole = {
        0: length[6:].any(),
        BEAT_BYTES: length[7:].any(),
        2 * BEAT_BYTES: length[8:].any() | length[6:8].all(),
    }
    return Mux(whole[offset], BEAT_BYTES // 2, length[1:6])
