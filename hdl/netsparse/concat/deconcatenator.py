"""From packets to property requests: what is malformed is dropped whole."""

from dataclasses import dataclass
from typing import Any, cast

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for, ceil_log2

from hdl.common.component import Component
from hdl.netsparse.concat.packet_buffer import PacketBuffer, PacketBufferParams
from hdl.netsparse.protocol import (
    AXIS,
    BEAT_BYTES,
    IP_OFFSET,
    LENGTH_BITS,
    MOST_PROPERTY_BYTES,
    PACKET_CONSTANTS,
    PACKET_HEADER,
    PACKET_HEADER_BYTES,
    PR_BYTES,
    PR_LAYER,
    READ_PR,
    RESPONSE_BEAT,
    UDP_OFFSET,
    Kind,
    in_lanes,
)

LANES = BEAT_BYTES // 2  #: pieces of two bytes, of which PRs and properties are whole numbers
PR_LANES = PR_BYTES // 2
OURS = ("ethertype", "version_ihl", "protocol", "destination_port")
OURS_BYTES = UDP_OFFSET + 4  #: up to the last of them


class Drop(enum.Enum, shape=3):
    """Why a packet is dropped: the first that applies, from above."""

    BROKEN = 0  #: the MAC says so
    FOREIGN = 1  #: ethertype, version_ihl, protocol or destination_port are not ours, or cut off
    OVERSIZE = 2  #: over the MTU
    KIND = 3  #: of unknown type, or of the other class
    DEST = 4  #: for another node
    LENGTH = 5  #: its length contradicts itself; also one that ends within its header
    SOURCE = 6  #: a PR's src is no node


BEAT = data.StructLayout({"tdata": AXIS.data_bits, "tkeep": BEAT_BYTES, "tlast": 1, "tuser": 1})
EVENTS = data.StructLayout(
    {
        "packet": 1,  # a good one
        "bytes": 14,  # of it
        "prs": 9,  # in it
        "drops": len(Drop),  # a bit for each Drop
    }
)


@dataclass(frozen=True, kw_only=True)
class DeconcatenatorParams:
    """Class and sizes of a deconcatenator."""

    payload: bool  #: responses and errors, else reads
    nodes: int  #: of the cluster, 2..65536
    mtu: int = 1500  #: bytes of a packet, 594..9216
    most_property_bytes: int = 512  #: a multiple of 4, 4..4096 (and a PR of it fits the MTU)
    buffer_packets: int = 8  #: of MTU size that wait, at least; 2..64

    def __post_init__(self) -> None:
        if not 2 <= self.nodes <= 1 << 16:
            raise ValueError(f"nodes must be from 2 to 65536: {self.nodes}")
        if not 594 <= self.mtu <= 9216:
            raise ValueError(f"mtu must be from 594 to 9216 bytes: {self.mtu}")
        most = min(MOST_PROPERTY_BYTES, self.mtu - PACKET_HEADER_BYTES - PR_BYTES) & ~3
        if self.most_property_bytes % 4 or not 4 <= self.most_property_bytes <= most:
            raise ValueError(
                f"most_property_bytes must be a multiple of 4 from 4 to {most}:"
                f" {self.most_property_bytes}"
            )
        if not 2 <= self.buffer_packets <= 64:
            raise ValueError(f"buffer_packets must be from 2 to 64: {self.buffer_packets}")

    @property
    def suffix(self) -> str:
        """Class and all sizes."""
        kind = "responses" if self.payload else "reads"
        return (
            f"{kind}_n{self.nodes}_m{self.mtu}_p{self.most_property_bytes}_b{self.buffer_packets}"
        )

    @property
    def beats(self) -> int:
        """Of a packet as long as the MTU."""
        return -(-self.mtu // BEAT_BYTES)

    @property
    def most_prs(self) -> int:
        """Of a packet."""
        return (self.mtu - PACKET_HEADER_BYTES) // (PR_BYTES + 4 * self.payload)

    @property
    def most_lanes(self) -> int:
        """That one beat of a PR takes from its packet."""
        return PR_LANES + (min(self.most_property_bytes, BEAT_BYTES) // 2 if self.payload else 0)

    @property
    def buffer(self) -> PacketBufferParams:
        """Beats of packets that wait, each with tlast."""
        words = self.buffer_packets * self.beats + PacketVerdict.latency + 2
        return PacketBufferParams(
            width=AXIS.data_bits + 1, words=1 << ceil_log2(words), behind=PacketVerdict.latency
        )

    @property
    def beat(self) -> data.StructLayout:
        """A PR, or a part of it."""
        return RESPONSE_BEAT if self.payload else READ_PR

    @property
    def header(self) -> data.StructLayout:
        """What the verdict needs of a packet's first beat."""
        return data.StructLayout(
            {
                "foreign": 1,  # the packet is
                "short": 1,  # it ends within the header
                "kind": 1,  # it is of another class
                "dest": 1,  # it is not for us
                "length": 1,  # len or #PRs cannot be
                "error": 1,  # it is an error
                "prs": bits_for(self.most_prs),
                "step": LENGTH_BITS + 1,  # bytes of a PR
                "ip_end": 17,  # the last byte, as total_length has it
                "udp_end": 17,
            }
        )

    @property
    def findings(self) -> data.StructLayout:
        """What a packet's beats tell, up to the last."""
        return data.StructLayout(
            {
                "broken": 1,
                "over": 1,  # the MTU
                "ragged": 1,  # bytes are missing before the last
                "end": ceil_log2(BEAT_BYTES) + bits_for(self.beats),  # number of the last byte
                "header": self.header,
            }
        )

    @property
    def context(self) -> data.StructLayout:
        """What the unpacker needs of a packet's first beat."""
        fields = {"length": LENGTH_BITS, "prs": bits_for(self.most_prs)}
        if self.payload:
            fields |= {"error": 1, "lanes": bits_for(self.most_lanes)}  # of a PR's first beat
        return data.StructLayout(fields)


def header_of(beat: Value) -> data.View:
    """A packet's first beat as its fields."""
    return data.View(PACKET_HEADER, in_lanes(beat))


def delayed(m: Module, value: Any, cycles: int, name: str) -> Any:
    """``value``, of the same shape, some ``cycles`` later."""
    for k in range(cycles):
        register = Signal(value.shape(), name=f"{name}_{k}", reset_less=True)
        m.d.sync += register.eq(value)
        value = register
    return value


class PacketVerdict(Component):
    """Judges packets while they pass on to a packet buffer.

    Beats taken at ``axis`` appear as ``word`` (data, and tlast above it) with ``write``,
    :attr:`latency` cycles later. ``ends`` comes with a packet's last beat, and ``keep`` with it if
    the packet is good; ``events`` a cycle later. Beats behind the MTU are not written. ``node``
    holds still. ``axis.tready`` is ``room``: nothing waits inside.
    """

    latency = 5

    def __init__(self, params: DeconcatenatorParams) -> None:
        super().__init__(
            params,
            {
                "axis": In(AXIS),
                "node": In(32),
                "room": In(1),
                "write": Out(1),
                "word": Out(AXIS.data_bits + 1),
                "ends": Out(1),
                "keep": Out(1),
                "events": Out(EVENTS),
            },
        )

    def elaborate(self, platform) -> Module:
        # A name's digit is its stage: how many cycles ago its beat was taken.
        m = Module()
        axis = self.axis
        valid = Signal(self.latency)  # stages 1 to 5
        beat1 = Signal(BEAT, reset_less=True)
        index1 = Signal(range(self.params.beats + 1))  # of the beat; the highest is one too many
        first1 = Signal()
        m.d.comb += [axis.tready.eq(self.room), first1.eq(index1 == 0)]
        m.d.sync += [
            valid.eq(Cat(axis.tvalid & axis.tready, valid)),
            *(beat1[name].eq(getattr(axis, name)) for name in BEAT.members),
        ]
        with m.If(valid[0]):
            m.d.sync += index1.eq(Mux(beat1.tlast, 0, index1 + (index1 != self.params.beats)))

        findings2 = self.judge_beat(m, beat1, valid[0], index1, first1)
        mismatch5 = self.check_length(m, findings2)
        source5 = self.check_sources(m, beat1, valid, first1, findings2.header.step)
        findings5 = delayed(m, findings2, 3, "findings")
        self.decide(m, findings5, mismatch5, source5)
        fits1 = Signal()
        m.d.comb += [
            fits1.eq(index1 != self.params.beats),
            self.write.eq(valid[-1] & delayed(m, fits1, 4, "fits")),
            self.word.eq(delayed(m, Cat(beat1.tdata, beat1.tlast), 4, "word")),
            self.ends.eq(valid[-1] & self.word[-1]),
        ]
        return m

    def judge_beat(self, m: Module, beat1, valid1, index1, first1) -> data.View:
        """What each beat tells by itself, and the first about its packet."""
        found2 = Signal(self.params.findings, reset_less=True)
        keep, mtu = beat1.tkeep, self.params.mtu
        beyond = keep[mtu % BEAT_BYTES :].any() if mtu % BEAT_BYTES else 0
        hole = (keep[1:] & ~keep[:-1]).any()
        missing = ~Mux(beat1.tlast, keep[0], keep[-1])
        m.d.sync += [
            found2.broken.eq(beat1.tuser),
            found2.over.eq(
                (index1 == self.params.beats) | ((index1 == self.params.beats - 1) & beyond)
            ),
            found2.end.eq(Cat(last_byte(m, keep), index1)),
        ]
        with m.If(valid1):
            m.d.sync += found2.ragged.eq(hole | missing | (found2.ragged & ~first1))
            with m.If(first1):
                m.d.sync += self.header_fields(found2.header, header_of(beat1.tdata), keep)
        return cast(data.View, found2)

    def header_fields(self, header: Any, beat: data.View, keep: Value) -> list:
        """What of a packet's first ``beat`` can be told at once."""
        upper, shared = beat.upper, beat.concatenation
        kinds = (Kind.RESPONSE, Kind.ERROR) if self.params.payload else (Kind.READ,)
        known = Cat(shared.type == kind.value for kind in kinds)
        error = known[1] if self.params.payload else Const(0)
        strange = Cat(upper[name] != PACKET_CONSTANTS[name] for name in OURS)
        wrong_length = (
            (shared.len == 0)
            | shared.len[:2].any()
            | (shared.len > self.params.most_property_bytes)
            | (shared.prs == 0)
            | (shared.prs > self.params.most_prs)
            | (error & (shared.prs != 1))
        )
        return [
            header.foreign.eq(strange.any() | ~keep[:OURS_BYTES].all()),
            header.short.eq(~keep.all()),
            header.kind.eq(~known.any()),
            header.dest.eq(shared.dest != self.node),
            header.length.eq(wrong_length),
            header.error.eq(error),
            header.prs.eq(shared.prs),
            header.step.eq(PR_BYTES + (shared.len[:LENGTH_BITS] if self.params.payload else 0)),
            header.ip_end.eq(upper.total_length + (IP_OFFSET - 1)),
            header.udp_end.eq(upper.udp_length + (UDP_OFFSET - 1)),
        ]

    def check_length(self, m: Module, findings2: data.View) -> Signal:
        """Whether the packet does not end where its three lengths say."""
        header2 = findings2.header
        bytes3 = Signal(len(header2.prs) + len(header2.step), reset_less=True)
        expected4 = Signal(range((1 << len(bytes3)) + PACKET_HEADER_BYTES), reset_less=True)
        mismatch5 = Signal(reset_less=True)
        error3 = delayed(m, header2.error, 1, "error")
        m.d.sync += [
            bytes3.eq(header2.prs * header2.step),
            expected4.eq(Mux(error3, PR_BYTES, bytes3) + (PACKET_HEADER_BYTES - 1)),
        ]
        end4 = delayed(m, findings2.end, 2, "end")
        ip_end4 = delayed(m, header2.ip_end, 2, "ip_end")
        udp_end4 = delayed(m, header2.udp_end, 2, "udp_end")
        m.d.sync += mismatch5.eq((end4 != expected4) | (end4 != ip_end4) | (end4 != udp_end4))
        return mismatch5

    def check_sources(self, m: Module, beat1, valid, first1, step2) -> Signal:
        """Whether a PR's src is no node, wherever PRs begin if the length is right."""
        octets = beat1.tdata
        halves = [Cat(octets[k + 8 : k + 16], octets[k : k + 8]) for k in range(0, 16 * LANES, 16)]
        kept = Cat(beat1.tkeep[2 * k] for k in range(LANES))  # behind the packet's end is no PR
        upper2 = Signal(LANES, reset_less=True)  # lanes that are wrong as src's upper half
        lower2 = Signal(LANES, reset_less=True)
        first2 = delayed(m, first1, 1, "first")
        m.d.sync += [
            upper2.eq(Cat(half != 0 for half in halves) & kept),
            lower2.eq(Cat(half >= self.params.nodes for half in halves) & kept),
        ]
        starts2 = self.find_starts(m, valid[1], first2, step2)
        starts3 = delayed(m, Mux(first2, 0, starts2), 1, "starts")
        upper3 = delayed(m, upper2, 1, "upper")
        lower3 = delayed(m, lower2, 1, "lower")
        first3 = delayed(m, first2, 1, "first_later")
        carry3 = Signal(reset_less=True)  # the beat before ended with an upper half
        wrong4 = Signal(reset_less=True)
        carried = carry3 & ~first3  # what begins behind a packet's end is no PR
        wrong = (upper3 & starts3).any() | (lower3 & Cat(carried, starts3[:-1])).any()
        with m.If(valid[2]):
            m.d.sync += [carry3.eq(starts3[-1]), wrong4.eq(wrong | (wrong4 & ~first3))]
        return delayed(m, wrong4, 1, "wrong")

    def find_starts(self, m: Module, valid2, first2, step2: Value) -> Value:
        """A bit for each lane in which a PR begins."""
        if not self.params.payload:
            at = Signal(range(PR_LANES), reset_less=True)
            gap = PR_LANES - LANES % PR_LANES
            with m.If(valid2):
                after = Mux(at < PR_LANES - gap, at + gap, at - (PR_LANES - gap))
                m.d.sync += at.eq(Mux(first2, 0, after))
            return Cat(at == lane % PR_LANES for lane in range(LANES))
        stride = step2[1:]
        at = Signal(len(stride) + 1, reset_less=True)  # of the first, from this beat's first lane
        places = [Signal(len(stride) + 3, name=f"place_{k}") for k in range(4)]
        m.d.comb += [place.eq(at + stride * Const(k)) for k, place in enumerate(places)]
        after = places[-1]  # three PRs of the least size fill a beat
        for place in reversed(places[:-1]):
            after = Mux(place[5:].any(), place, after)
        with m.If(valid2):
            m.d.sync += at.eq(Mux(first2, 0, after - LANES))
        here = [Mux(p[5:].any(), 0, Const(1, LANES) << p[:5])[:LANES] for p in places[:-1]]
        return here[0] | here[1] | here[2]

    def decide(self, m: Module, findings5: data.View, mismatch5: Value, source5: Value) -> None:
        """The first reason to drop the packet, or none."""
        header = findings5.header
        reasons = [
            (findings5.broken, Drop.BROKEN),
            (header.foreign, Drop.FOREIGN),
            (findings5.over, Drop.OVERSIZE),
            (header.short, Drop.LENGTH),
            (header.kind, Drop.KIND),
            (header.dest, Drop.DEST),
            (header.length | findings5.ragged | mismatch5, Drop.LENGTH),
            (source5, Drop.SOURCE),
        ]
        drops = Signal(len(Drop))
        for applies, reason in reversed(reasons):
            with m.If(applies):
                m.d.comb += drops.eq(1 << reason.value)
        m.d.comb += self.keep.eq(~Cat(applies for applies, _ in reasons).any())
        m.d.sync += [
            self.events.packet.eq(self.ends & self.keep),
            self.events.drops.eq(Mux(self.ends, drops, 0)),
            self.events.bytes.eq(findings5.end + 1),
            self.events.prs.eq(header.prs),
        ]


def last_byte(m: Module, keep: Value) -> Value:
    """The number of the highest bit that is set, of a row of ones from bit 0."""
    edges = Signal(BEAT_BYTES)
    m.d.comb += edges.eq(keep & ~(keep >> 1))
    bits = range(ceil_log2(BEAT_BYTES))
    return Cat(Cat(edges[k] for k in range(BEAT_BYTES) if k >> b & 1).any() for b in bits)


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


class Deconcatenator(Component):
    """Takes packets for ``node`` at ``axis`` and gives their PRs in order: NetSparse, section 6.1.

    A packet's PRs come out only when all of it is there and known to be good; any other is
    dropped whole. ``events`` pulse once for each packet, good or dropped (:class:`Drop`). Not
    looked at: addresses, the source port, fragments, the IP checksum (the MAC's own covers all)
    and the property. ``node`` holds still.

    Throughput: a beat of ``axis`` and a beat of ``prs`` every cycle; at either end the slower
    one decides. Latency: :attr:`latency` from a packet's last beat to its first PR. Full:
    ``axis`` waits, which never depends on anything but ``prs`` being taken: a packet of any
    length ends, as what is behind the MTU is not kept.
    """

    latency = PacketVerdict.latency + PacketBuffer.latency + Unpacker.latency

    def __init__(self, params: DeconcatenatorParams) -> None:
        super().__init__(
            params,
            {
                "axis": In(AXIS),
                "node": In(32),
                "prs": Out(stream.Signature(params.beat)),
                "events": Out(EVENTS),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.verdict = verdict = PacketVerdict(self.params)
        m.submodules.buffer = buffer = PacketBuffer(self.params.buffer)
        m.submodules.unpacker = unpacker = Unpacker(self.params)
        connect(m, flipped(self.axis), verdict.axis)
        connect(m, buffer.o, unpacker.words)
        connect(m, unpacker.prs, flipped(self.prs))
        m.d.comb += [
            verdict.node.eq(self.node),
            unpacker.node.eq(self.node),
            verdict.room.eq(buffer.room),
            buffer.write.eq(verdict.write),
            buffer.word.eq(verdict.word),
            buffer.ends.eq(verdict.ends),
            buffer.keep.eq(verdict.keep),
            self.events.eq(verdict.events),
        ]
        return m
