"""Lays completions into beats of RC as the block does: straddled, one behind the other."""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.pcie.axis import SEGMENT_DWORDS, PcieStreamSignature, rc_user
from hdl.pcie.descriptors import COMPLETION, COMPLETION_DWORDS, DWORD_BITS
from sim.surroundings.pcie.params import PcieHostParams

Marks = tuple[Value, Value, ValueLike]
AHEAD = 4  #: completions that may begin in a beat, at most


class CompletionPacker(Component):
    """Packs ``completions`` into ``rc``, each from the next free segment of four dwords on.

    A beat ends where nothing more has come, and none has the end of one that is discontinued with
    that of another. Data comes from host memory: in a cycle of ``fetch``
    each segment asks for four dwords of a place of its own, which are ``result`` a cycle later, and
    stay. ``stalls``: no beat begins.

    Throughput: a beat a cycle; as many completions as fit begin in it while some have waited.
    Latency: :attr:`latency`. Stalls: completions wait.
    """

    latency = 2

    def __init__(self, params: PcieHostParams) -> None:
        bits = params.data_bits
        super().__init__(
            params,
            completions=In(stream.Signature(params.completion)),
            stalls=In(1),
            fetch=Out(1),
            places=Out(data.ArrayLayout(params.place_bits, params.segments)),
            result=In(bits),
            rc=Out(PcieStreamSignature(data_bits=bits, user=rc_user(bits))),
        )

    def build(self, m: Module) -> None:
        params, rc = self.params, self.rc
        count = Signal(range(AHEAD + 1))
        ahead = Array(Signal(params.completion, name=f"ahead_{k}") for k in range(AHEAD))
        used = Signal(range(AHEAD + 1))  # of those ahead, in the beat that begins
        begun = Signal(self.packet())  # the packet that goes on
        packet, user = begun, Signal(rc_user(params.data_bits))
        taken, ends = Value.cast(Const(0, 3)), Value.cast(Const(0, 3))
        headers: list[Value] = []
        enables: list[Value] = []
        begins: list[Marks] = []
        finals: list[Marks] = []
        some = Signal()
        spoilt: Value = Const(0, 1)  # one that is discontinued ends
        for k in range(params.segments):
            alone = (ahead[taken].discontinued & ends.any()) | spoilt
            opens = ~packet.left.any() & (taken < count) & ~alone
            now = self.begin(m, k, packet, opens, ahead[taken])
            valid, is_last = now.left.any(), (now.left <= SEGMENT_DWORDS) & now.left.any()
            last = (SEGMENT_DWORDS * k - 1 + now.left)[: ceil_log2(params.lanes)]
            begins.append((opens, taken, k))
            finals.append((is_last, ends, last))
            m.d.comb += self.places[k].eq(now.place)
            headers.append(Cat(opens, now.descriptor))
            enables.append(self.enables(opens, now))
            if k == 0:
                m.d.comb += some.eq(valid)
            taken, ends = (taken + opens)[:3], (ends + is_last)[:3]
            spoilt = spoilt | (is_last & now.discontinued)
            packet = self.behind(m, k, now)
        free = ~rc.tvalid | rc.tready
        self.mark(m, user, begins, finals)
        m.d.comb += [user.enables.eq(Cat(enables)), user.discontinue.eq(spoilt)]
        m.d.comb += [
            self.fetch.eq(free & some & ~self.stalls),
            used.eq(Mux(self.fetch, taken, 0)),
        ]
        self.look_ahead(m, ahead, count, used)
        held = Signal(Cat(headers).shape())
        with m.If(free):
            m.d.sync += rc.tvalid.eq(self.fetch)
        with m.If(self.fetch):
            m.d.sync += [rc.tuser.eq(user), held.eq(Cat(headers)), begun.eq(packet)]
        self.give(m, held)

    def packet(self) -> data.StructLayout:
        """Describe what is left of a packet; ``place`` is that of the next segment's first dword.

        For its first segment, whose data lies behind the descriptor, that is before its data.
        """
        return data.StructLayout(
            {
                "descriptor": COMPLETION,
                "place": self.params.place_bits,
                "left": 11,
                "first": 4,
                "last": 4,
                "discontinued": 1,
            }
        )

    def begin(self, m: Module, k: int, packet: Any, opens: Value, completion: Any) -> Any:
        """Return the packet of segment ``k``: that which goes on, or a new one."""
        now, bits = Signal(self.packet(), name=f"now_{k}"), self.params.place_bits
        m.d.comb += now.eq(packet)
        with m.If(opens):
            m.d.comb += [
                now.descriptor.eq(completion.descriptor),
                now.place.eq((completion.place - COMPLETION_DWORDS)[:bits]),
                now.left.eq(completion.dwords),
                now.first.eq(completion.first),
                now.last.eq(completion.last),
                now.discontinued.eq(completion.discontinued),
            ]
        return now

    def behind(self, m: Module, k: int, now: Any) -> Any:
        """Return what is left of a packet behind segment ``k``."""
        rest = Signal(self.packet(), name=f"rest_{k}")
        more = now.left > SEGMENT_DWORDS
        m.d.comb += [
            rest.place.eq((now.place + SEGMENT_DWORDS)[: self.params.place_bits]),
            rest.left.eq(Mux(more, (now.left - SEGMENT_DWORDS)[:11], 0)),
            rest.last.eq(now.last),
            rest.discontinued.eq(now.discontinued),
        ]
        return rest

    def enables(self, opens: Value, now: Any) -> Value:
        """Return which bytes of a segment are data of a packet."""
        result = []
        for k in range(SEGMENT_DWORDS):
            first = Mux(opens, now.first if k == COMPLETION_DWORDS else 0, 15)
            last = Mux(now.left == k + 1, now.last, 15)
            result.append(Mux(now.left > k, first & last, 0)[:4])
        return Cat(result)

    def mark(self, m: Module, user: Any, begins: list[Marks], ends: list[Marks]) -> None:
        """Say in ``user`` where packets begin and end.

        Each has for each segment whether it is one of them, how many are before it, and where.
        """
        wide = self.params.data_bits == 512
        for k in range(self.params.segments):
            start, segment = one_of(begins[k:], k)
            end, dword = one_of(ends[k:], k)
            m.d.comb += user.starts[k].eq(start)
            if wide:
                m.d.comb += [
                    user.start_segment[k].eq(segment),
                    user.ends[k].eq(end),
                    user.end_dword[k].eq(dword),
                ]
            else:
                m.d.comb += [user.ends[k].valid.eq(end), user.ends[k].dword.eq(dword)]

    def look_ahead(self, m: Module, ahead: Array, count: Signal, used: Signal) -> None:
        """Keep the next completions, of which ``used`` leave in a cycle."""
        rest = (count - used)[: len(count)]
        new = self.completions
        m.d.comb += new.ready.eq(rest != AHEAD)
        m.d.sync += count.eq((rest + (new.valid & new.ready))[: len(count)])
        moved = Array([*ahead, *([Const(0, self.params.completion.size)] * AHEAD)])
        for k in range(AHEAD):
            with m.If(rest == k):
                m.d.sync += ahead[k].eq(new.payload)
            with m.Else():
                m.d.sync += Value.cast(ahead[k]).eq(moved[used + k])

    def give(self, m: Module, headers: Signal) -> None:
        """Lay the descriptors over what has been found in memory."""
        size = 1 + COMPLETION.size
        parts = []
        for k in range(self.params.segments):
            header = headers[k * size : (k + 1) * size]
            result = self.result.word_select(k, SEGMENT_DWORDS * DWORD_BITS)
            parts.append(Mux(header[0], Cat(header[1:], result[COMPLETION.size :]), result))
        m.d.comb += [
            self.rc.tdata.eq(Cat(parts)),
            self.rc.tkeep.eq(-1),
            self.rc.tlast.eq(1),
        ]


def one_of(marks: list[Marks], number: int) -> tuple[Value, Value]:
    """Return whether ``marks`` has one with ``number`` others before it, and its place."""
    valid, place = Value.cast(Const(0)), Value.cast(Const(0))
    for is_one, before, where in marks:
        near = is_one & (before == number)
        valid, place = valid | near, place | Mux(near, where, 0)
    return valid, place
