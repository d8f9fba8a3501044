"""Simulates one direction of an Ethernet link inside the design: late, lossy, out of order."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Member, Out
from amaranth.utils import bits_for, ceil_log2

from hdl.common.axi import AxiStreamSignature
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import AXIS, LEAST_BYTES
from hdl.common.params import Params, whole
from sim.harness.tap import Tap

TIME_BITS = 32
DELAY_BITS = 12
CHANCE_BITS = 17
ALWAYS = 1 << 16  #: the chance that is certain
COUNTERS = ("sent", "delivered", "dropped", "duplicated", "reordered", "corrupted")
LINK_COUNTS = data.StructLayout(dict.fromkeys(COUNTERS, 32))


class LinkParams(Params, suffix="d{depth}_h{holds}_b{beats}x{data_bits}"):
    """Sets how much a link holds."""

    depth: int = whole(2, 1 << 16, default=8192)  #: beats under way
    holds: int = whole(2, 64, default=16)  #: packets held back at a time
    beats: int = whole(1, 1024, default=24)  #: beats of the longest packet
    data_bits: int = AXIS.data_bits  #: width of a beat

    @property
    def axis(self) -> AxiStreamSignature:
        """Return the signature of the stream at either end."""
        return AxiStreamSignature(data_bits=self.data_bits)

    @property
    def beat(self) -> data.StructLayout:
        """Describe what moves in a cycle."""
        return data.StructLayout(
            {
                "tdata": self.data_bits,
                "tkeep": self.data_bits // 8,
                "tlast": 1,
                "tuser": 1,
                "broken": 1,  # with the last beat: a bit of the packet was flipped here, or it cut
            }
        )

    @property
    def fate(self) -> data.StructLayout:
        """Describe what becomes of a packet, the same in all its beats."""
        return data.StructLayout({"reorder": 1, "duplicate": 1, "extra": DELAY_BITS})

    @property
    def crossing(self) -> data.StructLayout:
        """Describe what the near end may send to the far end in a cycle."""
        return data.StructLayout({"valid": 1, "beat": self.beat, "fate": self.fate})

    @property
    def entry(self) -> data.StructLayout:
        """Describe a beat under way."""
        return data.StructLayout({"beat": self.beat, "due": TIME_BITS, "fate": self.fate})

    @property
    def settings(self) -> data.StructLayout:
        """Describe what a simulation can change without being built again."""
        return data.StructLayout(
            {
                "latency": DELAY_BITS,  # cycles from i to o
                "drop": CHANCE_BITS,  # chances in 65,536 of each packet, 65,536 is always
                "duplicate": CHANCE_BITS,
                "reorder": CHANCE_BITS,
                "corrupt": CHANCE_BITS,
                "displacement": DELAY_BITS,  # most extra cycles of a packet held back; 0 is 1
                "seed": 32,  # of these chances; mixed with index
                "down": 1,  # drop everything
            }
        )

    @property
    def order(self) -> data.StructLayout:
        """Describe a packet that is held back: where it is, and when it may leave."""
        return data.StructLayout({"slot": bits_for(self.holds - 1), "due": TIME_BITS})


class Link(Component):
    """Delivers at ``o`` what it takes at ``i``, ``settings.latency`` cycles later, or worse.

    A packet's fate is drawn when its first beat is taken; changed settings hold for packets to
    come. Packets of any length up to ``params.beats`` are dropped, corrupted, and duplicated or
    reordered, as a whole, each by its own chance.

    - Dropped, or begun while ``down``: never seen again.
    - Corrupted: one bit of one of its beats is flipped, within the first 60 bytes, or the first
      byte of a shorter beat; ``tuser`` is raised with the last beat.
    - Duplicated: delivered, and once more 1 to ``displacement`` cycles later (uniform).
    - Reordered, unless it is duplicated: when its turn comes it steps aside, a beat a cycle, for 1
      to ``displacement`` cycles. At most displacement - 1 later packets overtake it.

    A longer packet ends with beat ``params.beats``, where ``tuser`` is raised, as a MAC cuts what
    is longer than it is set to (PG203, ``ctl_rx_max_packet_len``), and counts as corrupted.

    At most ``params.holds`` packets are held back; beyond that, packets pass in order, once, and
    do not count as duplicated or reordered. Those whose time has come leave before those in order,
    the one due first in front, but not between the beats of a packet. The random numbers are a
    hash of ``seed``, ``index`` (constant, another for each link) and the packet's number since
    reset.

    Latency: exactly ``settings.latency`` while ``o`` is free, and 0, the least, is combinational.
    Throughput: a beat a cycle. Stalls: a beat at ``o`` waits unchanged; ``i.tready`` depends on
    registers only and is low while ``params.depth`` beats are inside, or have left less than
    ``settings.latency`` cycles ago: so long it takes until the sender knows.

    The near end draws fates, and counts what is sent and dropped; all else is the far end's. Only
    beats go from one to the other (:meth:`join`), and credits back.

    Counters are of packets, modulo 2**32: sent + duplicated - dropped = delivered, once nothing is
    inside. A duplicated packet that is corrupted counts as corrupted twice, when it is delivered.
    """

    least_latency = 0
    taps = (
        Tap(stream="i", dropped="dropped"),
        Tap(stream="o", inbound=True, corrupted="corrupted"),
    )

    def __init__(self, params: LinkParams, **more: Member) -> None:
        super().__init__(
            params,
            i=In(params.axis),
            o=Out(params.axis),
            index=In(8),
            settings=In(params.settings),
            **{name: Out(32) for name in COUNTERS},
            **more,
        )

    def join(self, m: Module, sent: Any, freed: Signal, come: Any, credit: Signal) -> None:
        """Connect the ends: ``come`` is what is ``sent``, ``credit`` that a place is ``freed``."""
        m.d.comb += [come.eq(sent), credit.eq(freed)]

    def build(self, m: Module) -> None:
        now = Signal(TIME_BITS)
        m.d.sync += now.eq(now + 1)
        sent, come = (Signal(self.params.crossing, name=name) for name in ("going", "come"))
        take, credit = Signal(), Signal()
        self.join(m, sent, take, come, credit)
        self.add_credits(m, now, sent, credit)
        self.draw_fate(m, sent)
        head, head_valid = self.keep_for_latency(m, now, come, take)

        last = head.beat.tlast
        store = Signal()
        remove = Signal()
        due = Signal(TIME_BITS)
        m.d.comb += due.eq((now + head.fate.extra)[:TIME_BITS])
        full, held, held_ripe = self.hold_back(m, now, head.beat, store, remove, due)

        # Once a beat of the line is offered, its packet's last beat comes before anything else: a
        # place becomes free before a packet or behind it, but not within, and is taken at its end.
        committed = Signal()
        steps_aside = Signal()
        offered = Signal()
        moved = Signal()
        m.d.comb += [
            steps_aside.eq(head_valid & head.fate.reorder & ~full),
            remove.eq(held_ripe & ~committed & self.o.tready),
            offered.eq(head_valid & ~steps_aside & (committed | ~held_ripe)),
            self.o.tvalid.eq(offered | (held_ripe & ~committed)),
            moved.eq(offered & self.o.tready),
            take.eq(moved | steps_aside),
            store.eq(steps_aside | (moved & head.fate.duplicate & ~full)),
        ]
        with m.If(offered):
            m.d.sync += committed.eq(~(self.o.tready & self.o.tlast))
        beat = Signal(self.params.beat)
        m.d.comb += [
            beat.eq(Mux(offered, head.beat.as_value(), held)),
            self.o.tdata.eq(beat.tdata),
            self.o.tkeep.eq(beat.tkeep),
            self.o.tlast.eq(beat.tlast),
            self.o.tuser.eq(beat.tuser),
        ]
        delivered = self.o.tvalid & self.o.tready & self.o.tlast
        self.count(m, "delivered", delivered)
        self.count(m, "corrupted", delivered & beat.broken)
        self.count(m, "reordered", steps_aside & last)
        self.count(m, "duplicated", store & last & ~steps_aside)

    def count(self, m: Module, name: str, event: Value) -> None:
        """Count one more in counter ``name``, in each cycle of ``event``."""
        counter = getattr(self, name)
        with m.If(event):
            m.d.sync += counter.eq(counter + 1)

    def add_credits(self, m: Module, now: Signal, sent: Any, credit: Signal) -> None:
        """Take beats while fewer are at the far end than it has places, as far as is known."""
        depth = self.params.depth
        m.submodules.credits = credits = Fifo.sized(
            shape=TIME_BITS, depth=min(depth, 1 << DELAY_BITS), style="distributed", passes=True
        )
        level, due = Signal(range(depth + 1)), (now + self.settings.latency)[:TIME_BITS]
        m.d.comb += [
            self.i.tready.eq(level != depth),
            credits.i.valid.eq(credit),
            credits.i.payload.eq(due),
            credits.o.ready.eq(passed(now, credits.o.payload)),
        ]
        m.d.sync += level.eq(level + sent.valid - (credits.o.valid & credits.o.ready))

    def draw_fate(self, m: Module, sent: Any) -> None:
        """Send the beat at ``i``, with what becomes of it, unless it is dropped."""
        i, settings, params = self.i, self.settings, self.params
        drop, duplicate, reorder, corrupt, position, delay = self.chances(m)
        fate = data.StructLayout({"stored": params.fate, "drops": 1, "breaks": 1})
        drawn = Signal(fate)  # when a packet begins
        begun = Signal(fate)  # of the packet inside
        now_is = Signal(fate)
        before = Signal(range(params.beats + 1))  # beats of the packet, up to the longest's
        cut = Signal()
        chosen = Signal.like(before)  # the beat of which a bit is flipped, unless it is beyond
        flips = Signal()
        taken = i.tvalid & i.tready
        m.d.comb += [
            drawn.drops.eq(settings.down | (drop < settings.drop)),
            drawn.breaks.eq(corrupt < settings.corrupt),
            drawn.stored.duplicate.eq(duplicate < settings.duplicate),
            drawn.stored.reorder.eq((reorder < settings.reorder) & ~drawn.stored.duplicate),
            drawn.stored.extra.eq(scaled(delay, settings.displacement) + 1),
            now_is.eq(Mux(before == 0, drawn, begun)),
            sent.valid.eq(taken & ~now_is.drops & (before != params.beats)),
            cut.eq((before == params.beats - 1) & ~i.tlast),
            chosen.eq(scaled(delay, Const(params.beats))),
            flips.eq(now_is.breaks & ((before == chosen) | (i.tlast & (before < chosen)))),
            sent.beat.tdata.eq(i.tdata),
            sent.beat.tkeep.eq(i.tkeep),
            sent.beat.tlast.eq(i.tlast | cut),
            sent.beat.broken.eq((i.tlast & now_is.breaks) | cut),
            sent.beat.tuser.eq(i.tuser | sent.beat.broken),
            sent.fate.eq(now_is.stored),
        ]
        span = 8 * min(LEAST_BYTES, params.data_bits // 8)
        with m.If(flips):
            limit = Mux(i.tkeep[span // 8 - 1], Const(span), Const(8))
            flip = Const(1, span) << scaled(position, limit)
            m.d.comb += sent.beat.tdata.eq(i.tdata ^ flip[:span])
        with m.If(taken):
            m.d.sync += begun.eq(now_is)
            with m.If(i.tlast):
                m.d.sync += before.eq(0)
            with m.Elif(before != params.beats):
                m.d.sync += before.eq(before + 1)
        self.count(m, "sent", taken & i.tlast)
        self.count(m, "dropped", taken & i.tlast & now_is.drops)

    def chances(self, m: Module) -> list[Value]:
        """Return six random numbers of 16 bits for the packet at ``i``."""
        base = mixed(m, self.settings.seed ^ (self.index * Const(0x9E3779B9, 32))[:32])
        words = [mixed(m, (base + Cat(Const(k, 2), self.sent))[:32]) for k in range(3)]
        return [half for word in words for half in (word[:16], word[16:])]

    def keep_for_latency(
        self, m: Module, now: Signal, come: Any, take: Signal
    ) -> tuple[Any, Signal]:
        """Return the beat whose turn it is to be taken, and whether its time has come."""
        m.submodules.line = line = Fifo.sized(
            shape=self.params.entry, depth=self.params.depth, style="distributed"
        )
        head, first = Signal(self.params.entry), Signal(self.params.entry)
        incoming = Signal(self.params.entry)
        valid = Signal()
        m.d.comb += [
            incoming.beat.eq(come.beat),
            incoming.fate.eq(come.fate),
            incoming.due.eq((now + self.settings.latency)[:TIME_BITS]),
            line.i.payload.eq(incoming),
            line.i.valid.eq(come.valid),
            line.o.ready.eq(take),
            first.eq(line.o.payload),
        ]
        with m.If(line.o.valid):
            m.d.comb += [head.eq(first), valid.eq(passed(now, first.due))]
        with m.Else():  # nothing is under way: at latency 0 straight through
            m.d.comb += [head.eq(incoming), valid.eq(come.valid & (self.settings.latency == 0))]
            with m.If(take):
                m.d.comb += line.i.valid.eq(0)
        return head, valid

    def hold_back(
        self,
        m: Module,
        now: Signal,
        beat: data.View,
        store: Signal,
        remove: Signal,
        due: Signal,
    ) -> tuple[Signal, Value, Signal]:
        """Hold packets back, in the order in which they leave.

        ``store`` keeps ``beat``; with its last beat a packet is held until ``due``. ``remove``
        takes the next beat of the first. Whether no packet more can be held; the first one's
        beat, and whether its time has come.
        """
        holds, beat_bits = self.params.holds, ceil_log2(self.params.beats)
        m.submodules.held = held = Memory(
            shape=beat.shape().size, depth=holds << beat_bits, init=[]
        )
        read, write = held.read_port(domain="comb"), held.write_port()
        order = [Signal(self.params.order, name=f"order_{k}") for k in range(holds)]
        count = Signal(range(holds + 1))
        retained = Signal(range(holds + 1))
        used = Signal(holds)
        free = Signal(range(holds))
        slot = Signal(range(holds))  # of the packet that is being stored
        at = Signal(range(holds))
        stored = Signal(beat_bits)  # beats of it
        left = Signal(beat_bits)  # of the first packet
        ripe = Signal()
        full = Signal()
        insert = Signal()
        removes = Signal()  # the last beat of the first packet
        new = Cat(at, due)  # a params.order
        m.d.comb += [
            full.eq(count == holds),
            retained.eq(count - removes),
            ripe.eq((count != 0) & passed(now, order[0].due)),
            at.eq(Mux(stored == 0, free, slot)),
            insert.eq(store & beat.tlast),
            removes.eq(remove & self.params.beat(read.data).tlast),
            read.addr.eq(Cat(left, order[0].slot)),
            write.addr.eq(Cat(stored, at)),
            write.data.eq(beat),
            write.en.eq(store),
        ]
        for k in reversed(range(holds)):
            with m.If(~used[k]):
                m.d.comb += free.eq(k)
        with m.If(removes):
            m.d.sync += [used.bit_select(order[0].slot, 1).eq(0), left.eq(0)]
        with m.Elif(remove):
            m.d.sync += left.eq((left + 1)[:beat_bits])
        with m.If(store):
            m.d.sync += [
                used.bit_select(at, 1).eq(1),
                slot.eq(at),
                stored.eq(Mux(beat.tlast, 0, stored + 1)[:beat_bits]),
            ]
        with m.If(insert | removes):
            m.d.sync += count.eq((retained + insert)[: len(count)])
            # Each takes what has moved up to its place, or the new one, or what was in front.
            values = [entry.as_value() for entry in order]
            moved = [Mux(removes, *two) for two in zip([*values[1:], new], values, strict=True)]
            behind_new = Signal(holds)
            for k, value in enumerate(moved):
                later = ~passed(due, self.params.order(value).due)
                m.d.comb += behind_new[k].eq((k >= retained) | later)
                before = Mux(behind_new[k - 1], moved[k - 1], new) if k else new
                m.d.sync += order[k].eq(Mux(insert & behind_new[k], before, value))
        return full, read.data, ripe


def add_up(m: Module, total: Any, links: Sequence[Link]) -> None:
    """Let ``total``, which is LINK_COUNTS, be the sum of the counters of ``links``."""
    for name in COUNTERS:
        counts = Value.cast(sum((getattr(link, name) for link in links), Const(0, 32)))
        m.d.comb += total[name].eq(counts[:32])


def passed(now: Value, due: Value) -> Value:
    """Return whether time ``due`` is not after ``now``, modulo their width."""
    return ~(now - due)[TIME_BITS - 1]


def scaled(number: Value, limit: Value) -> Value:
    """Return 16 random bits as a uniform number below ``limit``."""
    return (number * limit)[16:]


def mixed(m: Module, value: Value) -> Value:
    """Return 32 bits in which each bit of ``value`` matters (finaliser of MurmurHash3, Appleby)."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        folded = Signal(32)
        product = Signal(32)
        m.d.comb += [
            folded.eq(value ^ (value >> shift)),
            product.eq((folded * Const(factor, 32))[:32]),
        ]
        value = product
    return value ^ (value >> 16)
