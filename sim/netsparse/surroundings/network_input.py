"""Takes packets into a simulated network, with random stalls, and drops or corrupts some."""

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import AXIS, BEAT_BYTES
from hdl.netsparse.protocol import PR_LAYER
from sim.netsparse.surroundings.delay_line import BEAT, INDEX_BITS, happens

INPUT_BEATS = 4  #: beats that wait

#: Gives the place, in a packet's second beat, of the highest bit of the first PR's tid.
HIGHEST_TID = PR_LAYER["src"].width + 7

#: Fault of one packet of a class, by its number; the first is number 0.
FAULTS = data.StructLayout(
    {"drop": 1, "drop_at": 32, "corrupt": 1, "corrupt_at": 32, "stray": 1, "stray_at": 32}
)
#: Fate of the packet that begins in this cycle, for counters.
EVENTS = data.StructLayout({"dropped": 1, "corrupted": 1, "lost": 1})


@dataclass(frozen=True, kw_only=True)
class NetworkInputParams:
    """Sets nothing: every input is the same."""


class NetworkInput(Component):
    """Passes packets of ``i`` to ``o``; it drops some, and may corrupt one.

    ``number`` is that of the packet whose first beat is at ``i``, ``begins`` is high when that
    beat is taken. Packet ``faults.drop_at`` is dropped; of packet ``faults.corrupt_at`` the lowest
    bit of #PRs is flipped, and of packet ``faults.stray_at`` the highest bit of the first PR's tid,
    each if it is switched on. The checksum at the MAC stays good; both count as ``corrupted``. A
    packet is dropped as ``lost`` if ``refused`` is high with its first beat. ``stall`` is the
    chance in 256, every cycle, that no beat is taken.

    Latency: ``latency``. Throughput: a beat a cycle. Full: back-pressure, beat by beat.
    """

    latency = 1

    def __init__(self, params: NetworkInputParams) -> None:
        super().__init__(
            params,
            i=In(AXIS),
            o=Out(stream.Signature(BEAT)),
            index=In(INDEX_BITS),
            seed=In(32),
            stall=In(8),
            faults=In(FAULTS),
            number=In(32),
            refused=In(1),
            begins=Out(1),
            events=Out(EVENTS),
        )

    def build(self, m: Module) -> None:
        m.submodules.waiting = waiting = Fifo.sized(shape=BEAT, depth=INPUT_BEATS)
        i, faults = self.i, self.faults
        inside = Signal()  # a packet
        dropping = Signal()  # it
        drops, hit, flips, moves = Signal(), Signal(), Signal(), Signal()
        strays = Signal()  # a packet that begins
        straying = Signal()  # the beat behind its first
        beat = Signal(BEAT)
        m.d.comb += [
            moves.eq(i.tvalid & i.tready),
            self.begins.eq(moves & ~inside),
            hit.eq(faults.drop & (self.number == faults.drop_at)),
            flips.eq(~inside & faults.corrupt & (self.number == faults.corrupt_at)),
            strays.eq(~inside & faults.stray & (self.number == faults.stray_at)),
            drops.eq(Mux(inside, dropping, self.refused | hit)),
            *(beat[name].eq(getattr(i, name)) for name in BEAT.members),
            waiting.i.payload.eq(beat),
            waiting.i.valid.eq(moves & ~drops),
            i.tready.eq(waiting.i.ready & ~happens(m, self.stall, self.seed, self.index)),
            self.events.dropped.eq(self.begins & hit),
            self.events.lost.eq(self.begins & self.refused & ~hit),
            self.events.corrupted.eq(self.begins & (flips | strays) & ~drops),
        ]
        with m.If(flips):  # the lowest bit of #PRs is that of the header's last byte
            lowest = 8 * (BEAT_BYTES - 1)
            m.d.comb += beat.tdata[lowest].eq(~i.tdata[lowest])
        with m.If(straying):
            m.d.comb += beat.tdata[HIGHEST_TID].eq(~i.tdata[HIGHEST_TID])
        with m.If(moves):
            m.d.sync += [inside.eq(~i.tlast), dropping.eq(drops), straying.eq(strays)]
        connect(m, waiting.o, flipped(self.o))
