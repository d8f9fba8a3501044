"""The network between SNICs, inside the simulated design: a hub that only forwards."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.packets import AXIS, in_lanes
from hdl.common.round_robin import RoundRobin, RoundRobinParams
from hdl.netsparse.protocol import PACKET_HEADER
from sim.netsparse.surroundings.delay_line import (
    BEAT,
    LATENCY_BITS,
    DelayLine,
    DelayLineParams,
)
from sim.netsparse.surroundings.network_input import (
    EVENTS,
    FAULTS,
    NetworkInput,
    NetworkInputParams,
)

MOST_NODES = 16


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

    least_latency = NetworkInput.latency + DelayLine.least_latency

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
        waiting = self.take_packets(m)
        asking = [Signal(count, name=f"asking_{k}") for k in range(count)]  # each output
        taken = [Signal(count, name=f"taken_{k}") for k in range(count)]  # from each input
        for k, i in enumerate(waiting):
            route = self.route(m, k, i)
            for out in range(count):
                m.d.comb += asking[out][k].eq(i.valid & (route == out))
            m.d.comb += i.ready.eq(Cat(taken[out][k] for out in range(count)).any())
        for out in range(count):
            m.submodules[f"line_{out}"] = line = DelayLine(DelayLineParams())
            connect(m, line.o, flipped(self.o[out]))
            m.d.comb += [
                line.index.eq(Cat(Const(out, 8), self.index)),
                line.seed.eq(self.settings.seed),
                line.latency.eq(self.settings.latency),
                line.stall.eq(self.settings.out_stall),
                *(self.counts[name][out].eq(line.delivered[name]) for name in ("packets", "bytes")),
            ]
            self.choose(m, out, asking[out], taken[out], [i.payload for i in waiting], line.i)
        return m

    def take_packets(self, m: Module) -> list:
        """What has come to each input, to which the settings have been applied."""
        count = self.params.nodes
        begins = Signal(count)
        total = Signal(32)  # packets that have begun
        m.d.sync += total.eq(total + sum(begins[1:], start=begins[0]))
        events = Signal(data.ArrayLayout(EVENTS, count))
        waiting = []
        for k, i in enumerate(self.i):
            m.submodules[f"input_{k}"] = taker = NetworkInput(NetworkInputParams())
            connect(m, flipped(i), taker.i)
            dest = data.View(PACKET_HEADER, in_lanes(i.tdata)).concatenation.dest
            m.d.comb += [
                taker.index.eq(Cat(Const(k, 8), self.index)),
                taker.seed.eq(self.settings.seed),
                taker.stall.eq(self.settings.in_stall),
                taker.faults.eq(self.settings.faults),
                taker.number.eq((total + sum(begins[:k], start=Const(0)))[: len(total)]),
                taker.refused.eq(dest >= count),
                begins[k].eq(taker.begins),
                events[k].eq(taker.events),
            ]
            waiting.append(taker.o)
        for name in EVENTS.members:
            counter = self.counts[name]
            m.d.sync += counter.eq(counter + sum((e[name] for e in events), start=Const(0, 1)))
        return waiting

    def route(self, m: Module, k: int, i):
        """The output of the packet whose next beat is at ``i``."""
        inside = Signal(name=f"inside_{k}")
        held = Signal(self.params.route_bits, name=f"held_route_{k}")
        route = Signal(self.params.route_bits, name=f"route_{k}")
        dest = data.View(PACKET_HEADER, in_lanes(i.payload.tdata)).concatenation.dest
        m.d.comb += route.eq(Mux(inside, held, low_bits(dest, len(route))))
        with m.If(i.valid & i.ready):
            m.d.sync += [inside.eq(~i.payload.tlast), held.eq(route)]
        return route

    def choose(self, m: Module, out: int, asking, taken, beats, line) -> None:
        """One input after the other, each for a whole packet."""
        count = self.params.nodes
        m.submodules[f"turn_{out}"] = turn = RoundRobin(RoundRobinParams(count=count))
        beat = Signal(BEAT, name=f"beat_{out}")
        inside = Signal(name=f"packet_{out}")
        held = Signal(count, name=f"held_{out}")
        chosen = Signal(count, name=f"chosen_{out}")
        m.d.comb += [
            turn.asking.eq(asking),
            turn.take.eq(line.ready & ~inside),
            chosen.eq(Mux(inside, held & asking, turn.grant)),
            taken.eq(Mux(line.ready, chosen, 0)),
            line.valid.eq(chosen.any()),
            line.payload.eq(beat),
        ]
        for k, candidate in enumerate(beats):
            with m.If(chosen[k]):
                m.d.comb += beat.eq(candidate)
        with m.If(taken.any()):
            m.d.sync += [inside.eq(~beat.tlast), held.eq(chosen)]


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
