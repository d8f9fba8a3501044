"""Decides whether a packet is good, while it is written to a buffer."""

from typing import Any, cast

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay, index_of, low_bits
from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT_BYTES, in_lanes
from hdl.netsparse.concat.deconcatenator_params import (
    BEAT,
    LANES,
    OWN,
    OWN_BYTES,
    PR_LANES,
    VERDICT_LATENCY,
    DeconcatenatorParams,
    Drop,
)
from hdl.netsparse.protocol import (
    IP_OFFSET,
    LENGTH_BITS,
    PACKET_CONSTANTS,
    PACKET_HEADER,
    PACKET_HEADER_BYTES,
    PR_BYTES,
    UDP_OFFSET,
    Kind,
)


def header_of(beat: Value) -> data.View:
    """View a packet's first beat as its fields."""
    return data.View(PACKET_HEADER, in_lanes(beat))


class PacketVerdict(Component):
    """Checks packets on their way to a packet buffer.

    Beats taken at ``axis`` appear as ``word`` (data, tlast above it, then ``tag``) with ``write``,
    :attr:`latency` cycles later. ``ends`` comes with a packet's last beat, and ``keep`` with it if
    the packet is good; ``events`` a cycle later. Beats beyond the MTU are not written. ``node``
    must be stable. ``axis.tready`` is ``room``: no beat waits inside.

    PRs are found while their beats go by, in lanes of two bytes, 32 a beat. A worked example: seven
    responses with properties of 8 bytes. Each PR is 18 + 8 bytes long, 13 lanes, and the first one
    begins after the header's beat. So PRs begin in lanes 0, 13 and 26 of beat 1; the fourth, in
    lane 39, is in lane 7 of beat 2, and the fifth in lane 20; then come lanes 1 and 14 of beat 3;
    lane 27 would follow, but it is beyond the end. The lane where a PR begins has the upper half of
    its src, which must be 0, and the next lane has the lower half, which must be less than
    ``nodes``; after lane 31 the next lane is lane 0 of the next beat. The packet's last byte must
    be number 64 + 7 x 26 - 1 = 245, which is byte 53 of beat 3, by all four measures: the number of
    PRs and len, IPv4's length, UDP's length, and tkeep.
    """

    latency = VERDICT_LATENCY

    def __init__(self, params: DeconcatenatorParams) -> None:
        super().__init__(
            params,
            axis=In(AXIS),
            **params.node_port,
            room=In(1),
            write=Out(1),
            word=Out(params.word_bits),
            ends=Out(1),
            keep=Out(1),
            events=Out(params.events),
            **({"tag": In(params.tag_bits)} if params.tag_bits else {}),
        )

    def build(self, m: Module) -> None:
        # A name's digit is its stage: how many cycles ago its beat was taken.
        axis = self.axis
        valid = Signal(self.latency)  # valid bits of stages 1 to 5
        beat1 = Signal(BEAT, reset_less=True)
        index1 = Signal(range(self.params.beats + 1))  # number of the beat; the highest: too many
        first1 = Signal()
        m.d.comb += [axis.tready.eq(self.room), first1.eq(index1 == 0)]
        m.d.sync += [
            valid.eq(Cat(axis.tvalid & axis.tready, valid[:-1])),
            *(beat1[name].eq(getattr(axis, name)) for name in BEAT.members),
        ]
        with m.If(valid[0]):
            m.d.sync += index1.eq(Mux(beat1.tlast, 0, index1 + (index1 != self.params.beats)))

        findings2 = self.judge_beat(m, beat1, valid[0], index1, first1)
        mismatch5 = self.check_length(m, findings2)
        source5 = self.check_sources(m, beat1, valid, first1, findings2.header.step)
        findings5 = delay(m, findings2, 3, "findings")
        self.decide(m, findings5, mismatch5, source5)
        fits1 = Signal()
        word1 = Cat(beat1.tdata, beat1.tlast)
        m.d.comb += [
            fits1.eq(index1 != self.params.beats),
            self.write.eq(valid[-1] & delay(m, fits1, 4, "fits")),
            self.word[: len(word1)].eq(delay(m, word1, 4, "word")),
            self.ends.eq(valid[-1] & self.word[AXIS.data_bits]),
        ]
        if self.params.tag_bits:
            m.d.comb += self.word[len(word1) :].eq(delay(m, self.tag, self.latency, "tag"))

    def judge_beat(self, m: Module, beat1, valid1, index1, first1) -> data.View:
        """Check each beat by itself, and the packet by its first beat."""
        result2 = Signal(self.params.findings, reset_less=True)
        keep, mtu = beat1.tkeep, self.params.mtu
        beyond = keep[mtu % BEAT_BYTES :].any() if mtu % BEAT_BYTES else 0
        hole = (keep[1:] & ~keep[:-1]).any()
        missing = ~Mux(beat1.tlast, keep[0], keep[-1])
        m.d.sync += [
            result2.broken.eq(beat1.tuser),
            result2.over.eq(
                (index1 == self.params.beats) | ((index1 == self.params.beats - 1) & beyond)
            ),
            result2.end.eq(Cat(last_byte(m, keep), index1)),
        ]
        with m.If(valid1):
            m.d.sync += result2.ragged.eq(hole | missing | (result2.ragged & ~first1))
            with m.If(first1):
                m.d.sync += self.header_fields(result2.header, header_of(beat1.tdata), keep)
        return cast(data.View, result2)

    def header_fields(self, header: Any, beat: data.View, keep: Value) -> list:
        """Return the checks of a packet's first ``beat`` that need no other beat."""
        upper, shared = beat.upper, beat.concatenation
        kinds = (Kind.RESPONSE, Kind.ERROR) if self.params.payload else (Kind.READ,)
        known = Cat(shared.type == kind.value for kind in kinds)
        error = known[1] if self.params.payload else Const(0)
        strange = Cat(upper[name] != PACKET_CONSTANTS[name] for name in OWN)
        wrong_length = (
            (shared.len == 0)
            | shared.len[:2].any()
            | (shared.len > self.params.most_property_bytes)
            | (shared.prs == 0)
            | (shared.prs > self.params.max_prs)
            | (error & (shared.prs != 1))
        )
        return [
            header.foreign.eq(strange.any() | ~keep[:OWN_BYTES].all()),
            header.short.eq(~keep.all()),
            header.kind.eq(~known.any()),
            header.dest.eq(
                shared.dest >= self.params.nodes
                if self.params.any_dest
                else shared.dest != self.node
            ),
            header.length.eq(wrong_length),
            header.error.eq(error),
            header.prs.eq(low_bits(shared.prs, len(header.prs))),
            header.step.eq(
                low_bits(PR_BYTES + (shared.len if self.params.payload else 0), len(header.step))
            ),
            header.ip_end.eq(upper.total_length + (IP_OFFSET - 1)),
            header.udp_end.eq(upper.udp_length + (UDP_OFFSET - 1)),
            *([header.len.eq(shared.len[:LENGTH_BITS])] if self.params.tag_bits else []),
        ]

    def check_length(self, m: Module, findings2: data.View) -> Signal:
        """Return whether the packet does not end where its three lengths end."""
        header2 = findings2.header
        bytes3 = Signal(len(header2.prs) + len(header2.step), reset_less=True)
        expected4 = Signal(range((1 << len(bytes3)) + PACKET_HEADER_BYTES), reset_less=True)
        mismatch5 = Signal(reset_less=True)
        error3 = delay(m, header2.error, 1, "error")
        m.d.sync += [
            bytes3.eq(header2.prs * header2.step),
            expected4.eq(Mux(error3, PR_BYTES, bytes3) + (PACKET_HEADER_BYTES - 1)),
        ]
        end4 = delay(m, findings2.end, 2, "end")
        ip_end4 = delay(m, header2.ip_end, 2, "ip_end")
        udp_end4 = delay(m, header2.udp_end, 2, "udp_end")
        m.d.sync += mismatch5.eq((end4 != expected4) | (end4 != ip_end4) | (end4 != udp_end4))
        return mismatch5

    def check_sources(self, m: Module, beat1, valid, first1, step2) -> Signal:
        """Return whether a PR's src is no node, where PRs begin if the length is right."""
        octets = beat1.tdata
        halves = [Cat(octets[k + 8 : k + 16], octets[k : k + 8]) for k in range(0, 16 * LANES, 16)]
        stored = Cat(beat1.tkeep[2 * k] for k in range(LANES))  # lanes before the packet's end
        upper2 = Signal(LANES, reset_less=True)  # lanes that are illegal as the upper half of src
        lower2 = Signal(LANES, reset_less=True)
        first2 = delay(m, first1, 1, "first")
        m.d.sync += [
            upper2.eq(Cat(half != 0 for half in halves) & stored),
            lower2.eq(Cat(half >= self.params.nodes for half in halves) & stored),
        ]
        starts2 = self.find_starts(m, valid[1], first2, step2)
        starts3 = delay(m, Mux(first2, 0, starts2), 1, "starts")
        upper3 = delay(m, upper2, 1, "upper")
        lower3 = delay(m, lower2, 1, "lower")
        first3 = delay(m, first2, 1, "first_later")
        carry3 = Signal(reset_less=True)  # the beat before ended with an upper half
        wrong4 = Signal(reset_less=True)
        carried = carry3 & ~first3  # no PR begins after a packet's end
        wrong = (upper3 & starts3).any() | (lower3 & Cat(carried, starts3[:-1])).any()
        with m.If(valid[2]):
            m.d.sync += [carry3.eq(starts3[-1]), wrong4.eq(wrong | (wrong4 & ~first3))]
        return delay(m, wrong4, 1, "wrong")

    def find_starts(self, m: Module, valid2, first2, step2: Value) -> Value:
        """Return a bit for each lane, high if a PR begins in it."""
        if not self.params.payload:
            at = Signal(range(PR_LANES), reset_less=True)
            gap = PR_LANES - LANES % PR_LANES
            with m.If(valid2):
                after = Mux(at < PR_LANES - gap, at + gap, at - (PR_LANES - gap))
                m.d.sync += at.eq(Mux(first2, 0, after))
            return Cat(at == lane % PR_LANES for lane in range(LANES))
        stride = step2[1:]
        at = Signal(len(stride) + 1, reset_less=True)  # lane of the first PR in this beat

        def multiple(k: int, less: int) -> Value:
            # It is computed before a packet's second beat, so that one sum is left.
            name = f"multiple_{k}_less_{less}"
            return delay(m, stride * Const(k) - less, 1, name) if k else Const(-less)

        places = [at + multiple(k, 0) for k in range(4)]
        later = [at + multiple(k, LANES) for k in range(4)]  # lanes from the next beat's first lane
        after = later[-1]  # three PRs of the least size fill a beat
        for place, behind in reversed(list(zip(places[:-1], later[:-1], strict=True))):
            after = Mux(place[5:].any(), behind, after)
        with m.If(valid2):
            m.d.sync += at.eq(low_bits(Mux(first2, 0, after), len(at)))
        present = [Mux(p[5:].any(), 0, Const(1, LANES) << p[:5])[:LANES] for p in places[:-1]]
        return present[0] | present[1] | present[2]

    def decide(self, m: Module, findings5: data.View, mismatch5: Value, source5: Value) -> None:
        """Find the first reason to drop the packet, or none."""
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
        if self.params.tag_bits:
            m.d.sync += [
                self.events.length.eq(header.len),
                self.events.error.eq(header.error),
                self.events.tag.eq(self.word[AXIS.data_bits + 1 :]),
            ]


def last_byte(m: Module, keep: Value) -> Value:
    """Return the number of the highest bit set in a run of ones from bit 0."""
    edges = Signal(BEAT_BYTES)
    m.d.comb += edges.eq(keep & ~(keep >> 1))
    return index_of(edges)
