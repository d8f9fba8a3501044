"""The network between SNICs, inside the simulated design: a hub that only forwards."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.packets import AXIS, BEAT_BYTES, in_lanes
from hdl.common.round_robin import RoundRobin, RoundRobinParams
from hdl.netsparse.protocol import PACKET_HEADER
from sim.surroundings.chance import random_bits

MOST_NODES = 16
TIME_BITS = 16
LATENCY_BITS = 8
INPUT_BEATS = 4  #: that wait at an input
LINE_BEATS = 300  #: under way to an output: a beat a cycle at any latency

BEAT = data.StructLayout(
    {"tdata": AXIS.data_bits, "tkeep": AXIS.data_bits // 8, "tlast": 1, "tuser": 1}
)
#: What befalls one packet of a class, the first is number 0.
FAULTS = data.StructLayout(
    {
        "drop": 1,
        "drop_at": 32,
        "corrupt": 1,
        "corrupt_at": 32,
    }
)


@dataclass(frozen=True, kw_only=True)
class HubParams:
    """Size of a hub."""

    nodes: int  #: N, 2..16

    def __post_init__(self) -> None:
        if not 2 <= self.nodes <= MOST_NODES:
            raise ValueError(f"nodes must be from 2 to {MOST_NODES}: {self.nodes}")

    @property
    def suffix(self) -> str:
        """Nodes."""
        return str(self.nodes)

    @property
    def route_bits(self) -> int:
        """Number of an output."""
        return ceil_log2(self.nodes)

    @property
    def settings(self) -> data.StructLayout:
        """What a simulation can change without being built again."""
        return data.StructLayout(
            {
                "latency": LATENCY_BITS,  # cycles, on top of the least
                "in_stall": 8,  # chance in 256, every cycle, that an input takes no beat
                "out_stall": 8,  # that an output gets none
                "seed": 32,  # of these chances; read after reset
                "reads": FAULTS,
                "responses": FAULTS,
            }
        )

    @property
    def class_settings(self) -> data.StructLayout:
        """Those of one class."""
        shared = {name: f.shape for name, f in self.settings if f.shape is not FAULTS}
        return data.StructLayout(shared | {"faults": FAULTS})

    @property
    def counts(self) -> data.StructLayout:
        """Of one class, modulo 2**32; per output what it has delivered."""
        each = data.ArrayLayout(32, self.nodes)
        return data.StructLayout(
            {
                "packets": each,
                "bytes": each,
                "dropped": 32,  # packets by drop_at
                "corrupted": 32,  # by corrupt_at
                "lost": 32,  # whose dest is no node
            }
        )


class HubClass(Component):
    """One class of packets in a :class:`Hub`, which has two of these."""

    least_latency = 3

    def __init__(self, params: HubParams) -> None:
        super().__init__(
            params,
            {
                "i": In(AXIS).array(params.nodes),
                "o": Out(AXIS).array(params.nodes),
                "index": In(8),
                "settings": In(params.class_settings),
                "counts": Out(params.counts),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        count = self.params.nodes
        now = Signal(TIME_BITS)
        m.d.sync += now.eq(now + 1)
        waiting = self.take_packets(m)
        asking = [Signal(count, name=f"asking_{k}") for k in range(count)]  # each output
        taken = [Signal(count, name=f"taken_{k}") for k in range(count)]  # from each input
        for k, (fifo, route) in enumerate(waiting):
            for out in range(count):
                m.d.comb += asking[out][k].eq(fifo.o.valid & (route == out))
            m.d.comb += fifo.o.ready.eq(Cat(taken[out][k] for out in range(count)).any())
        beats = [fifo.o.payload[: BEAT.size] for fifo, _ in waiting]
        for out in range(count):
            beat = Signal(BEAT, name=f"beat_{out}")
            room = Signal(name=f"room_{out}")
            self.choose(m, out, asking[out], taken[out], beat, beats, room)
            self.delay(m, out, now, beat, taken[out].any(), room)
        return m

    def take_packets(self, m: Module) -> list[tuple[Fifo, Value]]:
        """A queue for each input, with the output that its first beat wants."""
        count = self.params.nodes
        starts = Signal(count)  # packets that begin in this cycle
        total = Signal(32)  # that have begun
        m.d.sync += total.eq(total + sum(starts[1:], start=starts[0]))
        shape = data.StructLayout({"beat": BEAT, "route": self.params.route_bits})
        waiting = []
        events = {name: Signal(count, name=name) for name in ("dropped", "corrupted", "lost")}
        for k, i in enumerate(self.i):
            m.submodules[f"input_{k}"] = fifo = Fifo(
                FifoParams(width=shape.size, depth=INPUT_BEATS)
            )
            inside = Signal(name=f"inside_{k}")  # a packet
            dropping = Signal(name=f"dropping_{k}")  # it
            drops = Signal(name=f"drops_{k}")
            lost = Signal(name=f"lost_{k}")
            hit = Signal(name=f"hit_{k}")  # by drop_at
            flips = Signal(name=f"flips_{k}")
            target = Signal(self.params.route_bits, name=f"target_{k}")
            number = Signal(32, name=f"number_{k}")
            entry = Signal(shape, name=f"entry_{k}")
            dest = data.View(PACKET_HEADER, in_lanes(i.tdata)).concatenation.dest
            faults = self.settings.faults
            moves = i.tvalid & i.tready
            m.d.comb += [
                starts[k].eq(moves & ~inside),
                number.eq((total + sum(starts[:k], start=Const(0)))[: len(total)]),
                lost.eq(dest >= count),
                hit.eq(faults.drop & (number == faults.drop_at)),
                flips.eq(~inside & faults.corrupt & (number == faults.corrupt_at)),
                drops.eq(Mux(inside, dropping, lost | hit)),
                entry.beat.tdata.eq(i.tdata),
                entry.beat.tkeep.eq(i.tkeep),
                entry.beat.tlast.eq(i.tlast),
                entry.beat.tuser.eq(i.tuser),
                entry.route.eq(low_bits(Mux(inside, target, dest), len(target))),
                fifo.i.payload.eq(entry),
                fifo.i.valid.eq(moves & ~drops),
                i.tready.eq(fifo.i.ready & ~self.chance(m, f"in_{k}", self.settings.in_stall)),
                events["dropped"][k].eq(starts[k] & hit),
                events["lost"][k].eq(starts[k] & lost & ~hit),
                events["corrupted"][k].eq(starts[k] & flips & ~drops),
            ]
            with m.If(flips):  # the lowest bit of #PRs is that of the header's last byte
                lowest = 8 * (BEAT_BYTES - 1)
                m.d.comb += entry.beat.tdata[lowest].eq(~i.tdata[lowest])
            with m.If(moves):
                m.d.sync += [inside.eq(~i.tlast), dropping.eq(drops), target.eq(entry.route)]
            waiting.append((fifo, data.View(shape, fifo.o.payload).route))
        for name, bits in events.items():
            counter = self.counts[name]
            m.d.sync += counter.eq(counter + sum(bits[1:], start=bits[0]))
        return waiting

    def choose(self, m: Module, out: int, asking, taken, beat, beats, room) -> None:
        """One input after the other, each for a whole packet."""
        count = self.params.nodes
        m.submodules[f"turn_{out}"] = turn = RoundRobin(RoundRobinParams(count=count))
        inside = Signal(name=f"packet_{out}")
        held = Signal(count, name=f"held_{out}")
        chosen = Signal(count, name=f"chosen_{out}")
        m.d.comb += [
            turn.asking.eq(asking),
            turn.take.eq(room & ~inside),
            chosen.eq(Mux(inside, held & asking, turn.grant)),
            taken.eq(Mux(room, chosen, 0)),
        ]
        for k, candidate in enumerate(beats):
            with m.If(chosen[k]):
                m.d.comb += beat.eq(candidate)
        with m.If(taken.any()):
            m.d.sync += [inside.eq(~beat.tlast), held.eq(chosen)]

    def delay(self, m: Module, out: int, now, beat, valid: Value, room) -> None:
        """A line that beats leave when their time has come."""
        o = self.o[out]
        shape = data.StructLayout({"beat": BEAT, "due": TIME_BITS})
        m.submodules[f"line_{out}"] = line = Fifo(
            FifoParams(width=shape.size, depth=LINE_BEATS, style="distributed")
        )
        entry = Signal(shape, name=f"entry_line_{out}")
        first = Signal(shape, name=f"first_{out}")
        offered = Signal(BEAT, name=f"offered_{out}")
        waits = Signal(name=f"waits_{out}")  # offered
        leaves = Signal(name=f"leaves_{out}")
        ripe = ~(now - first.due)[TIME_BITS - 1]
        stall = self.chance(m, f"out_{out}", self.settings.out_stall)
        m.d.comb += [
            entry.beat.eq(beat),
            entry.due.eq((now + 1 + self.settings.latency)[:TIME_BITS]),
            line.i.payload.eq(entry),
            line.i.valid.eq(valid),
            room.eq(line.i.ready),
            first.eq(line.o.payload),
            leaves.eq(line.o.valid & ripe & ~stall & (~waits | o.tready)),
            line.o.ready.eq(leaves),
            o.tvalid.eq(waits),
            *(getattr(o, name).eq(offered[name]) for name in BEAT.members),
        ]
        with m.If(leaves):
            m.d.sync += [offered.eq(first.beat), waits.eq(1)]
        with m.Elif(o.tready):
            m.d.sync += waits.eq(0)
        packets, octets = self.counts.packets[out], self.counts.bytes[out]
        with m.If(o.tvalid & o.tready):
            kept = sum(o.tkeep[1:], start=o.tkeep[0])
            m.d.sync += [octets.eq(octets + kept), packets.eq(packets + o.tlast)]

    def chance(self, m: Module, name: str, share: Value) -> Value:
        """Whether it happens in this cycle."""
        salt = sum(ord(letter) * 131**k for k, letter in enumerate(name)) * 0x9E3779B9
        start = self.settings.seed ^ Const(salt & 0xFFFFFFFF, 32) ^ (self.index << 24)[:32]
        return random_bits(m, start | 1, name=f"chance_{name}")[8:16] < share


class Hub(Component):
    """Forwards each packet to the output that its header's ``dest`` names.

    Reads and responses, with errors, have ports of their own, by node, and share nothing.
    Packets stay whole; at an output, inputs take turns packet by packet. Those between the same
    two nodes keep their order. A packet whose dest is no node is dropped and counted as lost.
    Faults: packet number ``drop_at`` of a class is dropped, of packet ``corrupt_at`` the lowest
    bit of #PRs is flipped (its checksum at the MAC stays good), each if it is switched on.
    Packets are numbered from 0 in the order in which their first beats are taken, of one cycle
    from the lowest input on.

    Latency: ``HubClass.least_latency + settings.latency`` where nothing else goes. Throughput: a
    beat a cycle at every input and output, at every latency. Full: back-pressure, beat by
    beat, up to the input; an input whose first packet waits for a busy output holds up those
    behind it.
    """

    least_latency = HubClass.least_latency

    def __init__(self, params: HubParams) -> None:
        super().__init__(
            params,
            {
                "reads_i": In(AXIS).array(params.nodes),
                "reads_o": Out(AXIS).array(params.nodes),
                "responses_i": In(AXIS).array(params.nodes),
                "responses_o": Out(AXIS).array(params.nodes),
                "settings": In(params.settings),
                "reads_counts": Out(params.counts),
                "responses_counts": Out(params.counts),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        for index, kind in enumerate(("reads", "responses")):
            m.submodules[kind] = half = HubClass(self.params)
            for k in range(self.params.nodes):
                connect(m, flipped(getattr(self, f"{kind}_i")[k]), half.i[k])
                connect(m, half.o[k], flipped(getattr(self, f"{kind}_o")[k]))
            for name in self.params.class_settings.members:
                value = self.settings[kind if name == "faults" else name]
                m.d.comb += half.settings[name].eq(value)
            m.d.comb += [half.index.eq(index), getattr(self, f"{kind}_counts").eq(half.counts)]
        return m
