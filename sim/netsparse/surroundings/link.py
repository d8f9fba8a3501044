"""Simulates one direction of a link between two ports of a simulated network."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
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
    DelayLine,
    DelayLineParams,
)
from sim.netsparse.surroundings.network_input import (
    FAULTS,
    NetworkInput,
)

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
        """Return the sizes of a class' delay line: a beat a cycle at its latency, and a packet."""
        return DelayLineParams(depth=self.latency + 1 + self.packet_beats)


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


def counted_by(kind: str, name: str) -> str:
    """Return Verilog of a counter of a class."""
    first = LINK_COUNTS[kind].offset + CLASS_COUNTS[name].offset
    return f"counts[{first + 31}:{first}]"


class SharedLink(Component):
    """Delivers what it takes: reads, and responses with errors, share its bandwidth.

    Packets stay whole and take turns: one of each class while both wait. A class begins a packet
    only while its buffer at the far end has room for the longest one, as with priority flow
    control; so a class whose far end takes nothing does not hold up the other, but a sender that
    pauses within a packet does. Both classes have room for a beat a cycle at ``params.latency``.

    Each class has the faults of :class:`NetworkInput`, for packets whose numbers begin at 0.
    ``index`` tells links apart, whose stalls must differ.

    Latency: ``least_latency + settings.latency`` where nothing else goes. Throughput: a beat a
    cycle, both classes together. Full: back-pressure of a class, beat by beat.
    """

    least_latency = NetworkInput.latency + DelayLine.least_latency
    taps = (
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

    def __init__(self, params: LinkParams) -> None:
        super().__init__(
            params,
            {
                **{f"{kind}_i": In(AXIS) for kind in CLASSES},
                **{f"{kind}_o": Out(AXIS) for kind in CLASSES},
                "index": In(INDEX_BITS - 1),
                "settings": In(LINK_SETTINGS),
                "counts": Out(LINK_COUNTS),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        count = len(CLASSES)
        m.submodules.turn = turn = RoundRobin.sized(count=count)
        inside = Signal()  # a packet
        held = Signal(count)  # the class whose packet it is
        chosen = Signal(count)
        waits = Signal(count)  # a beat
        room = Signal(count)  # for a packet
        beat = Signal(BEAT)
        moves = Signal()
        taken = []
        for k, kind in enumerate(CLASSES):
            i, line = self.add_class(m, k, kind)
            m.d.comb += [
                waits[k].eq(i.valid),
                room[k].eq(line.level <= self.params.line.depth - self.params.packet_beats),
                line.i.payload.eq(i.payload),
                line.i.valid.eq(i.valid & chosen[k]),
                i.ready.eq(line.i.ready & chosen[k]),
            ]
            with m.If(chosen[k]):
                m.d.comb += beat.eq(i.payload)
            taken.append(i.valid & i.ready)
        m.d.comb += [
            turn.requesting.eq(waits & room),
            turn.take.eq(~inside),
            chosen.eq(Mux(inside, held, turn.grant)),
            moves.eq(Cat(taken).any()),
        ]
        with m.If(moves):
            m.d.sync += [inside.eq(~beat.tlast), held.eq(chosen)]
        return m

    def add_class(self, m: Module, k: int, kind: str):
        """Add the two ends of a class: what has come, and the line to the far end."""
        m.submodules[f"{kind}_input"] = taker = NetworkInput.sized()
        m.submodules[f"{kind}_line"] = line = DelayLine(self.params.line)
        connect(m, flipped(getattr(self, f"{kind}_i")), taker.i)
        connect(m, line.o, flipped(getattr(self, f"{kind}_o")))
        settings, counts = self.settings, self.counts[kind]
        index = Cat(Const(k, 1), self.index)
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
            taker.index.eq(index),
            taker.seed.eq(settings.seed),
            taker.stall.eq(settings.in_stall),
            taker.faults.eq(settings[kind]),
            taker.number.eq(number),
            line.index.eq(index),
            line.seed.eq(settings.seed),
            line.latency.eq(settings.latency),
            line.stall.eq(settings.out_stall),
            line.stop.eq(settings.stop[kind]),
            *(counts[name].eq(line.delivered[name]) for name in DELIVERED.members),
        ]
        return taker.o, line
