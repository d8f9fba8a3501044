"""Simulates one direction of a link between two ports of a simulated network."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import AXIS, BEAT_BYTES
from hdl.common.params import Params, whole
from hdl.common.round_robin import RoundRobin
from hdl.netsparse.snic_counters import CLASSES
from sim.harness.tap import Tap
from sim.netsparse.surroundings.delay_line import (
    BEAT,
    DELIVERED,
    INDEX_BITS,
    LATENCY_BITS,
    TIME_BITS,
    DelayLine,
    DelayLineParams,
)
from sim.netsparse.surroundings.network_input import FAULTS, NetworkInput

FAULT_NAMES = ("drop", "corrupt", "stray")
MAX_LATENCY = (1 << LATENCY_BITS) - 1


class LinkParams(Params, suffix="mtu{mtu}"):
    """Sets the longest packet and the latency that a link has buffers for."""

    #: bytes of the longest packet that its buffers have room for ahead
    mtu: int = whole(BEAT_BYTES, 9216, default=1500)
    #: cycles at which it still takes a beat a cycle
    latency: int = whole(0, MAX_LATENCY, default=MAX_LATENCY, tag="_l{}")

    @property
    def packet_beats(self) -> int:
        """Return the number of beats of the longest packet."""
        return -(-self.mtu // BEAT_BYTES)

    @property
    def line(self) -> DelayLineParams:
        """Return the sizes of a class' delay line.

        It has room for a beat a cycle until credits are back, and for a packet.
        """
        return DelayLineParams(depth=2 * self.latency + 1 + self.packet_beats)


#: Sets what a simulation can change without a link's being built again.
LINK_SETTINGS = data.StructLayout(
    {
        "latency": LATENCY_BITS,  # cycles, on top of the least
        "in_stall": 8,  # chance in 256, every cycle, that no beat of a class is taken
        "out_stall": 8,  # that none is delivered
        "seed": 32,  # of these chances; read after reset
        **dict.fromkeys(CLASSES, FAULTS),
        "stop": data.StructLayout(dict.fromkeys(CLASSES, 1)),  # its far end takes nothing
    }
)
#: Counts of one class, modulo 2**32: what was delivered, the faults of packets, and the cycles in
#: which the sender's beat was ``blocked``, so not taken.
CLASS_COUNTS = data.StructLayout(
    {name: field.shape for name, field in DELIVERED}
    | {"dropped": 32, "corrupted": 32, "blocked": 32}
)
LINK_COUNTS = data.StructLayout(dict.fromkeys(CLASSES, CLASS_COUNTS))
#: What the sending end of a link puts on the wire: at most one beat, of one class.
ON_WIRE = data.StructLayout({"valid": len(CLASSES), "beat": BEAT})
#: Ports of links and of their ends: streams of both classes, and what sets and counts them.
INPUTS = {f"{kind}_i": In(AXIS) for kind in CLASSES}
OUTPUTS = {f"{kind}_o": Out(AXIS) for kind in CLASSES}
COMMON = {"index": In(INDEX_BITS - 1), "settings": In(LINK_SETTINGS), "counts": Out(LINK_COUNTS)}


def counted_by(kind: str, name: str) -> str:
    """Return Verilog of a counter of a class."""
    first = LINK_COUNTS[kind].offset + CLASS_COUNTS[name].offset
    return f"counts[{first + 31}:{first}]"


#: Ends of a link at which frames are captured.
TAPS = (
    *(
        Tap(
            stream=f"{kind}_i",
            dropped=counted_by(kind, "dropped"),
            corrupted=counted_by(kind, "corrupted"),
        )
        for kind in CLASSES
    ),
    *(Tap(stream=f"{kind}_o", inbound=True) for kind in CLASSES),
)


class NearEnd(Component):
    """Sends beats of both classes over the wire of a link, as many as its credits allow.

    ``sent`` is what goes on the wire; ``credits`` are the places that the far end gives back, which
    count ``settings.latency`` cycles later. ``counts`` are those of the link that this end knows,
    the others are 0. See :class:`SharedLink`.

    Latency: that of :class:`NetworkInput`. Throughput: a beat a cycle. Full: back-pressure of a
    class, beat by beat.
    """

    def __init__(self, params: LinkParams) -> None:
        own = {"sent": Out(ON_WIRE), "credits": In(len(CLASSES))}
        super().__init__(params, **INPUTS, **COMMON, **own)

    def build(self, m: Module) -> None:
        count = len(CLASSES)
        m.submodules.turn = turn = RoundRobin.sized(count=count)
        inside = Signal()  # a packet
        held = Signal(count)  # the class whose packet it is
        chosen = Signal(count)
        waits = Signal(count)  # a beat
        room = Signal(count)  # for a packet
        sent, depth = self.sent, self.params.line.depth
        credits = self.add_credits(m)
        for k, kind in enumerate(CLASSES):
            i = self.add_class(m, k, kind)
            level = Signal(bits_for(depth), name=f"{kind}_level")  # places taken at the far end
            m.d.sync += level.eq(level + sent.valid[k] - credits[k])
            m.d.comb += [
                waits[k].eq(i.valid),
                room[k].eq(level <= depth - self.params.packet_beats),
                i.ready.eq(chosen[k] & (level != depth)),
                sent.valid[k].eq(i.valid & i.ready),
            ]
            with m.If(chosen[k]):
                m.d.comb += sent.beat.eq(i.payload)
        m.d.comb += [
            turn.requesting.eq(waits & room),
            turn.take.eq(~inside),
            chosen.eq(Mux(inside, held, turn.grant)),
        ]
        with m.If(sent.valid.any()):
            m.d.sync += [inside.eq(~sent.beat.tlast), held.eq(chosen)]

    def add_credits(self, m: Module) -> Signal:
        """Add the wire that credits come back on; return those that have arrived."""
        shape = data.StructLayout({"credits": len(CLASSES), "due": TIME_BITS})
        m.submodules.wire = wire = Fifo.sized(
            shape=shape, depth=self.params.latency + 2, style="distributed", passes=True
        )
        now = Signal(TIME_BITS)
        first = Signal(shape)
        arrived = Signal(len(CLASSES))
        m.d.sync += now.eq(now + 1)
        m.d.comb += [
            wire.i.valid.eq(self.credits.any()),
            wire.i.payload.eq(Cat(self.credits, (now + self.settings.latency)[:TIME_BITS])),
            first.eq(wire.o.payload),
            wire.o.ready.eq(~(now - first.due)[TIME_BITS - 1]),
        ]
        with m.If(wire.o.valid & wire.o.ready):
            m.d.comb += arrived.eq(first.credits)
        return arrived

    def add_class(self, m: Module, k: int, kind: str):
        """Add the input of a class, with its faults; return what has come."""
        m.submodules[f"{kind}_input"] = taker = NetworkInput.sized()
        connect(m, flipped(getattr(self, f"{kind}_i")), taker.i)
        settings, counts = self.settings, self.counts[kind]
        number = Signal(32, name=f"{kind}_number")  # of the next packet
        m.d.sync += [
            number.eq(number + taker.begins),
            counts.blocked.eq(counts.blocked + (taker.i.tvalid & ~taker.i.tready)),
            *(
                counts[name].eq(counts[name] + taker.events[name])
                for name in ("dropped", "corrupted")
            ),
        ]
        m.d.comb += [
            taker.index.eq(Cat(Const(k, 1), self.index)),
            taker.seed.eq(settings.seed),
            taker.stall.eq(settings.in_stall),
            taker.faults.eq(settings[kind]),
            taker.number.eq(number),
        ]
        return taker.o


class FarEnd(Component):
    """Delivers what came over the wire of a link, ``least_latency + settings.latency`` later.

    Every beat of ``sent`` has a place here, as :class:`NearEnd` counts them; ``credits`` are high
    while places become free. ``counts`` are those of the link that this end knows, the others are
    0. Throughput: a beat a cycle. Stalls: a beat at an output waits unchanged.
    """

    least_latency = DelayLine.least_latency

    def __init__(self, params: LinkParams) -> None:
        own = {"sent": In(ON_WIRE), "credits": Out(len(CLASSES))}
        super().__init__(params, **OUTPUTS, **COMMON, **own)

    def build(self, m: Module) -> None:
        settings = self.settings
        for k, kind in enumerate(CLASSES):
            m.submodules[f"{kind}_line"] = line = DelayLine(self.params.line)
            connect(m, line.o, flipped(getattr(self, f"{kind}_o")))
            m.d.comb += [
                line.i.valid.eq(self.sent.valid[k]),
                line.i.payload.eq(self.sent.beat),
                line.index.eq(Cat(Const(k, 1), self.index)),
                line.seed.eq(settings.seed),
                line.latency.eq(settings.latency),
                line.stall.eq(settings.out_stall),
                line.stop.eq(settings.stop[kind]),
                self.credits[k].eq(line.leaves),
                *(self.counts[kind][name].eq(line.delivered[name]) for name in DELIVERED.members),
            ]


class SharedLink(Component):
    """Delivers what it takes: reads, and responses with errors, share its bandwidth.

    Packets stay whole and take turns: one of each class while both wait. A class begins a packet
    only while its buffer at the far end has room for the longest one, as with priority flow
    control; so a class whose far end takes nothing does not hold up the other, but a sender that
    pauses within a packet does. That there is room again is known ``settings.latency`` cycles
    later. Both classes have room for a beat a cycle at ``params.latency``.

    Each class has the faults of :class:`NetworkInput`, for packets whose numbers begin at 0.
    ``index`` tells links apart, whose stalls must differ.

    Latency: ``least_latency + settings.latency`` where nothing else goes. Throughput: a beat a
    cycle, both classes together. Full: back-pressure of a class, beat by beat.
    """

    least_latency = NetworkInput.latency + FarEnd.least_latency
    taps = TAPS

    def __init__(self, params: LinkParams) -> None:
        super().__init__(params, **INPUTS, **OUTPUTS, **COMMON)

    def build(self, m: Module) -> None:
        near, far = add_ends(m, self)
        for end in (near, far):
            m.d.comb += [end.index.eq(self.index), end.settings.eq(self.settings)]
        m.d.comb += [
            far.sent.eq(near.sent),
            near.credits.eq(far.credits),
            Value.cast(self.counts).eq(Value.cast(near.counts) | Value.cast(far.counts)),
        ]


def set_link(m: Module, link: Any, index: ValueLike, requested: Any, faulty_link: Value) -> None:
    """Set a link, or an end of it, as ``requested``: faults and stops only if it is the faulty one.

    ``index`` is its number.
    """
    is_faulty = faulty_link == index
    m.d.comb += [link.index.eq(index), link.settings.eq(requested)]
    for kind in CLASSES:
        faults, stop = link.settings[kind], link.settings.stop
        m.d.comb += [
            *(faults[name].eq(requested[kind][name] & is_faulty) for name in FAULT_NAMES),
            stop[kind].eq(requested.stop[kind] & is_faulty),
        ]


def add_ends(m: Module, link: Any) -> tuple[NearEnd, FarEnd]:
    """Add the sending and the receiving end of ``link``, with its streams."""
    m.submodules.near = near = NearEnd(link.params)
    m.submodules.far = far = FarEnd(link.params)
    for kind in CLASSES:
        connect(m, flipped(getattr(link, f"{kind}_i")), getattr(near, f"{kind}_i"))
        connect(m, getattr(far, f"{kind}_o"), flipped(getattr(link, f"{kind}_o")))
    return near, far
