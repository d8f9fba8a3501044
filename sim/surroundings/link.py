"""One direction of an Ethernet link, inside the simulated design: late, lossy, out of order."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.packets import AXIS
from hdl.p4sgd.network.frame import FRAME_BYTES

TIME_BITS = 32
DELAY_BITS = 12
CHANCE_BITS = 17
ALWAYS = 1 << 16  #: the chance that is certain
COUNTERS = ("sent", "delivered", "dropped", "duplicated", "reordered", "corrupted")

BEAT = data.StructLayout(
    {
        "tdata": AXIS.data_bits,
        "tkeep": AXIS.data_bits // 8,
        "tlast": 1,
        "tuser": 1,
        "flipped": 1,  # a bit of it, here
    }
)
ENTRY = data.StructLayout(
    {
        "beat": BEAT,
        "due": TIME_BITS,  # when its time has come
        "reorder": 1,
        "duplicate": 1,
        "extra": DELAY_BITS,  # delay of either
    }
)


@dataclass(frozen=True, kw_only=True)
class LinkParams:
    """How much a link holds."""

    depth: int = 8192  #: beats under way, 2..65536
    holds: int = 16  #: frames held back at a time, 2..64

    def __post_init__(self) -> None:
        if not 2 <= self.depth <= 1 << 16:
            raise ValueError(f"depth must be from 2 to 65536 beats: {self.depth}")
        if not 2 <= self.holds <= 64:
            raise ValueError(f"holds must be from 2 to 64 frames: {self.holds}")

    @property
    def suffix(self) -> str:
        """Both sizes."""
        return f"d{self.depth}_h{self.holds}"

    @property
    def settings(self) -> data.StructLayout:
        """What a simulation can change without being built again."""
        return data.StructLayout(
            {
                "latency": DELAY_BITS,  # cycles from i to o
                "drop": CHANCE_BITS,  # chances in 65,536 of each frame, 65,536 is always
                "duplicate": CHANCE_BITS,
                "reorder": CHANCE_BITS,
                "corrupt": CHANCE_BITS,
                "displacement": DELAY_BITS,  # most extra cycles of a frame held back; 0 is 1
                "seed": 32,  # of these chances; mixed with index
                "down": 1,  # drop everything
            }
        )

    @property
    def order(self) -> data.StructLayout:
        """A frame that is held back: where it is, and when it may leave."""
        return data.StructLayout({"slot": bits_for(self.holds - 1), "due": TIME_BITS})


class Link(Component):
    """Delivers at ``o`` what it takes at ``i``, ``settings.latency`` cycles later, or worse.

    A packet's fate is drawn when it is taken; changed settings hold for packets to come. Frames
    of one beat are dropped, corrupted, and duplicated or reordered, each by its own chance.
    Packets of several beats are only dropped, whole, and otherwise pass whole and in order.

    - Dropped, or taken while ``down``: never seen again.
    - Corrupted: one of the bits of its 60 bytes is flipped, ``tuser`` is raised.
    - Duplicated: delivered, and once more 1 to ``displacement`` cycles later (uniform).
    - Reordered, unless it is duplicated: when its turn comes it steps aside for 1 to
      ``displacement`` cycles. At most displacement - 1 later frames overtake it.

    At most ``params.holds`` frames are held back; beyond that, frames pass in order, once, and do
    not count as duplicated or reordered. Those whose time has come leave before those in order,
    the one due first in front, but not between the beats of a packet. The random numbers are a
    hash of ``seed``, ``index`` (constant, another for each link) and the packet's number since
    reset.

    Latency: exactly ``settings.latency`` while ``o`` is free, and 0, the least, is combinational.
    Throughput: a beat a cycle. Stalls: a beat at ``o`` waits unchanged; ``i.tready`` depends on
    registers only and is low while ``params.depth`` beats are inside.

    Counters are of packets, modulo 2**32: sent + duplicated - dropped = delivered, once nothing is
    inside. A duplicated frame that is corrupted counts as corrupted twice, when it is delivered.
    """

    least_latency = 0

    def __init__(self, params: LinkParams) -> None:
        super().__init__(
            params,
            {
                "i": In(AXIS),
                "o": Out(AXIS),
                "index": In(8),
                "settings": In(params.settings),
            }
            | {name: Out(32) for name in COUNTERS},
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        now = Signal(TIME_BITS)
        m.d.sync += now.eq(now + 1)
        incoming, stays = self.draw_fate(m, now)
        head, head_valid, take = self.keep_for_latency(m, now, incoming, stays)

        insert = Signal()
        remove = Signal()
        due = Signal(TIME_BITS)
        m.d.comb += due.eq((now + head.extra)[:TIME_BITS])
        full, held, held_ripe = self.hold_back(m, now, head.beat, insert, remove, due)

        # Once a beat of the line is offered, its packet's last beat comes before anything else.
        committed = Signal()
        steps_aside = Signal()
        offered = Signal()
        moved = Signal()
        m.d.comb += [
            steps_aside.eq(head_valid & head.reorder & ~full),
            remove.eq(held_ripe & ~committed & self.o.tready),
            offered.eq(head_valid & ~steps_aside & (committed | ~held_ripe)),
            self.o.tvalid.eq(offered | (held_ripe & ~committed)),
            moved.eq(offered & self.o.tready),
            take.eq(moved | steps_aside),
            insert.eq(steps_aside | (moved & head.duplicate & ~full)),
        ]
        with m.If(offered):
            m.d.sync += committed.eq(~(self.o.tready & self.o.tlast))
        beat = Signal(BEAT)
        m.d.comb += [
            beat.eq(Mux(offered, head.beat.as_value(), held)),
            self.o.tdata.eq(beat.tdata),
            self.o.tkeep.eq(beat.tkeep),
            self.o.tlast.eq(beat.tlast),
            self.o.tuser.eq(beat.tuser),
        ]
        delivered = self.o.tvalid & self.o.tready & self.o.tlast
        self.count(m, "delivered", delivered)
        self.count(m, "corrupted", delivered & beat.flipped)
        self.count(m, "reordered", steps_aside)
        self.count(m, "duplicated", insert & ~steps_aside)
        return m

    def count(self, m: Module, name: str, event: Value) -> None:
        """One more in a cycle of ``event``."""
        counter = getattr(self, name)
        with m.If(event):
            m.d.sync += counter.eq(counter + 1)

    def draw_fate(self, m: Module, now: Signal) -> tuple[data.View, Signal]:
        """What becomes of the beat at ``i``, and whether it is taken and not dropped."""
        i, settings = self.i, self.settings
        drop, duplicate, reorder, corrupt, position, delay = self.chances(m)
        entry = Signal(ENTRY)
        stays = Signal()
        inside = Signal()  # inside a packet of several beats
        dropping = Signal()
        single = Signal()
        drops = Signal()
        flips = Signal()
        m.d.comb += [
            single.eq(i.tlast & ~inside),
            drops.eq(Mux(inside, dropping, settings.down | (drop < settings.drop))),
            stays.eq(i.tvalid & i.tready & ~drops),
            flips.eq(single & (corrupt < settings.corrupt)),
            entry.beat.tdata.eq(i.tdata),
            entry.beat.tkeep.eq(i.tkeep),
            entry.beat.tlast.eq(i.tlast),
            entry.beat.tuser.eq(i.tuser | flips),
            entry.beat.flipped.eq(flips),
            entry.due.eq((now + settings.latency)[:TIME_BITS]),
            entry.duplicate.eq(single & (duplicate < settings.duplicate)),
            entry.reorder.eq(single & (reorder < settings.reorder) & ~entry.duplicate),
            entry.extra.eq(scaled(delay, settings.displacement) + 1),
        ]
        with m.If(flips):
            flip = Const(1, 8 * FRAME_BYTES) << scaled(position, Const(8 * FRAME_BYTES))
            m.d.comb += entry.beat.tdata.eq(i.tdata ^ flip[: 8 * FRAME_BYTES])
        with m.If(i.tvalid & i.tready):
            m.d.sync += [inside.eq(~i.tlast), dropping.eq(drops)]
        ends = i.tvalid & i.tready & i.tlast
        self.count(m, "sent", ends)
        self.count(m, "dropped", ends & drops)
        return entry, stays

    def chances(self, m: Module) -> list[Value]:
        """Six random numbers of 16 bits for the packet at ``i``."""
        base = mixed(m, self.settings.seed ^ (self.index * Const(0x9E3779B9, 32))[:32])
        words = [mixed(m, (base + Cat(Const(k, 2), self.sent))[:32]) for k in range(3)]
        return [half for word in words for half in (word[:16], word[16:])]

    def keep_for_latency(
        self, m: Module, now: Signal, incoming: data.View, stays: Signal
    ) -> tuple[data.View, Signal, Signal]:
        """The beat whose turn it is, whether its time has come, and what takes it."""
        m.submodules.line = line = Fifo(
            FifoParams(width=ENTRY.size, depth=self.params.depth, style="distributed")
        )
        head = Signal(ENTRY)
        valid = Signal()
        take = Signal()
        first = Signal(ENTRY)
        m.d.comb += [
            self.i.tready.eq(line.i.ready),
            line.i.payload.eq(incoming),
            line.i.valid.eq(stays),
            line.o.ready.eq(take),
            first.eq(line.o.payload),
        ]
        with m.If(line.o.valid):
            m.d.comb += [head.eq(first), valid.eq(passed(now, first.due))]
        with m.Else():  # nothing is under way: at latency 0 straight through
            m.d.comb += [head.eq(incoming), valid.eq(stays & (self.settings.latency == 0))]
            with m.If(take):
                m.d.comb += line.i.valid.eq(0)
        return head, valid, take

    def hold_back(
        self,
        m: Module,
        now: Signal,
        beat: data.View,
        insert: Signal,
        remove: Signal,
        due: Signal,
    ) -> tuple[Signal, Value, Signal]:
        """Frames held back, kept in the order in which they leave.

        ``insert`` keeps ``beat`` until ``due``, ``remove`` lets the first go. Whether no more can
        be inserted; the first frame, and whether its time has come.
        """
        holds = self.params.holds
        m.submodules.held = held = Memory(shape=BEAT.size, depth=holds, init=[])
        read, write = held.read_port(domain="comb"), held.write_port()
        order = [Signal(self.params.order, name=f"order_{k}") for k in range(holds)]
        count = Signal(range(holds + 1))
        kept = Signal(range(holds + 1))
        used = Signal(holds)
        free = Signal(range(holds))
        ripe = Signal()
        full = Signal()
        new = Cat(free, due)  # a params.order
        m.d.comb += [
            full.eq(count == holds),
            kept.eq(count - remove),
            ripe.eq((count != 0) & passed(now, order[0].due)),
            read.addr.eq(order[0].slot),
            write.addr.eq(free),
            write.data.eq(beat),
            write.en.eq(insert),
        ]
        for slot in reversed(range(holds)):
            with m.If(~used[slot]):
                m.d.comb += free.eq(slot)
        with m.If(remove):
            m.d.sync += used.bit_select(order[0].slot, 1).eq(0)
        with m.If(insert):
            m.d.sync += used.bit_select(free, 1).eq(1)
        with m.If(insert | remove):
            m.d.sync += count.eq((kept + insert)[: len(count)])
            # Each takes what has moved up to its place, or the new one, or what was in front.
            values = [entry.as_value() for entry in order]
            moved = [Mux(remove, *two) for two in zip([*values[1:], new], values, strict=True)]
            behind_new = Signal(holds)
            for k, value in enumerate(moved):
                later = ~passed(due, self.params.order(value).due)
                m.d.comb += behind_new[k].eq((k >= kept) | later)
                before = Mux(behind_new[k - 1], moved[k - 1], new) if k else new
                m.d.sync += order[k].eq(Mux(insert & behind_new[k], before, value))
        return full, read.data, ripe


def passed(now: Value, due: Value) -> Value:
    """Whether time ``due`` is not after ``now``, modulo their width."""
    return ~(now - due)[TIME_BITS - 1]


def scaled(number: Value, limit: Value) -> Value:
    """16 random bits as a uniform number below ``limit``."""
    return (number * limit)[16:]


def mixed(m: Module, value: Value) -> Value:
    """32 bits in which each bit of ``value`` matters (finaliser of MurmurHash3, Appleby)."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        folded = Signal(32)
        product = Signal(32)
        m.d.comb += [
            folded.eq(value ^ (value >> shift)),
            product.eq((folded * Const(factor, 32))[:32]),
        ]
        value = product
    return value ^ (value >> 16)
