"""Unpacks the property requests of a packet, one after another."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT_BYTES, in_lanes
from hdl.netsparse.concat.beat_ring import BeatRing
from hdl.netsparse.concat.deconcatenator_params import LANES, PR_LANES, DeconcatenatorParams
from hdl.netsparse.concat.packet_verdict import header_of
from hdl.netsparse.protocol import LENGTH_BITS, Kind


class Unpacker(Component):
    """Cuts good packets into PRs.

    ``words`` are their beats, with tlast above the data, and above that their packet's tag, which
    is ``prs_tag`` while its PRs are at ``prs``. Behind a packet's first beat, PRs stand without
    gaps, at any even byte: a window of ``params``' most lanes moves over as many beats
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
                "words": In(stream.Signature(params.word_bits)),
                **params.node_port,
                "prs": Out(stream.Signature(params.beat)),
                **({"prs_tag": Out(params.tag_bits)} if params.tag_bits else {}),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        m.submodules.ring = ring = BeatRing(params)
        count = Signal(range(params.places + 1))  # of beats in the ring
        begins_packet = Signal()
        follows = self.take_words(m, ring, begins_packet, room=count != params.places)

        passed = Signal(range(params.span + 1))  # beats that are used up by the next beat of a PR
        leaves = Signal()
        m.d.comb += ring.drops.eq(Mux(leaves, passed, 0))
        m.d.sync += count.eq(count - ring.drops + ring.push)
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
        return m

    def take_words(self, m: Module, ring: BeatRing, next_packet: Signal, room: Value) -> Any:
        """Keep the context of the packet behind the current one, until ``next_packet``."""
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
            least = Mux(length > BEAT_BYTES, BEAT_BYTES, length)[1:]
            m.d.comb += [
                write.data.error.eq(error),
                write.data.lanes.eq(
                    low_bits(PR_LANES + Mux(error, 0, least), len(write.data.lanes))
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
        """Say where the next beat of a PR is, and whether it leaves now."""
        params, payload = self.params, self.params.payload
        context = Signal(params.context, reset_less=True)
        active = Signal()  # the front beat's packet is the context's
        left = Signal(len(context.prs), reset_less=True)  # PRs, this one included
        end = Signal(range(LANES + params.most_lanes), reset_less=True)  # lane behind it
        # Bytes of the property, from this beat on.
        rest = Signal(range(params.most_property_bytes + 1), reset_less=True)
        last = Signal()  # beat of its PR
        done = Signal()  # packet
        over = Signal()  # lanes of it are in the beat where it ends
        touched = Signal(range(params.span + 1))  # beats
        turns = Signal()  # to another packet
        m.d.comb += [
            over.eq(end[:5].any()),
            touched.eq(low_bits(end[5:] + over, len(touched))),
            last.eq(rest <= BEAT_BYTES if payload else 1),
            done.eq(last & (left == 1)),
            passed.eq(Mux(done, touched, end[5:])),
            leaves.eq(active & free & (count >= touched)),
            # The packet behind, if it is here already, otherwise when it comes.
            turns.eq(Mux(active, leaves & done, count != 0)),
            begins_packet.eq(turns & (~active | (count > passed))),
            ring.turns.eq(turns | leaves),
            ring.restarts.eq(turns),
            ring.lane.eq(end[:5]),
            ring.with_header.eq(last),
        ]
        with m.If(ring.turns):
            m.d.sync += begins.eq(turns | last)
        with m.If(turns):
            m.d.sync += [
                active.eq(begins_packet),
                context.eq(follows),
                left.eq(follows.prs),
                end.eq(follows.lanes if payload else PR_LANES),
            ]
            if payload:
                m.d.sync += rest.eq(low_bits(Mux(follows.error, 0, follows.length), len(rest)))
        with m.Elif(leaves):
            if not payload:
                m.d.sync += [end.eq(end[:5] + PR_LANES), left.eq(left - 1)]
            else:
                further = Signal.like(rest)
                lanes = Mux(further > BEAT_BYTES, BEAT_BYTES, further)[1:]
                m.d.comb += further.eq(low_bits(rest - BEAT_BYTES, len(rest)))
                m.d.sync += [
                    end.eq(low_bits(end[:5] + Mux(last, context.lanes, lanes), len(end))),
                    rest.eq(Mux(last, low_bits(context.length, len(rest)), further)),
                    left.eq(left - last),
                ]
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
