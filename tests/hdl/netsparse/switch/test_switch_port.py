"""Tests where packets come into a switch: which pass, by which port, and how long they may be."""

import random
from collections import Counter

import cocotb
from cocotb.triggers import ClockCycles

from hdl.netsparse.switch.switch_port import PORT_EVENTS, WAITING_BEATS, SwitchPort
from sim.harness.axi_streams import AxiSource
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Stalls, always, benched, crossed, cycle, never
from sim.netsparse.links import as_beats
from tests.hdl.netsparse.switch.bench import SPINE
from tests.simulated import simulated

ROUTES = {0: 1, 1: 2, 2: 0, 4: 1, 5: 2}
FULL = (1 << 64) - 1  #: tkeep
EVENTS_LATENCY = 2

test_switch_port = simulated(SwitchPort, [SPINE], __name__)


def packet(dest, beats, *, keep=FULL, broken=False):
    """Return beats for ``dest`` that hold anything else; the last has ``keep``."""
    wire = [bytearray(random.randbytes(64)) for _ in range(beats)]
    wire[0][52:56] = dest.to_bytes(4, "big")
    return [
        (
            int.from_bytes(octets, "little"),
            keep if k == beats - 1 else FULL,
            int(k == beats - 1),
            int(broken and k in (0, beats - 1)),
        )
        for k, octets in enumerate(wire)
    ]


class PortBench(Bench):
    """Has a port; what leaves it and what it tells is as it should be."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls)
        self.sent = []
        self.axis = AxiSource(dut, "axis", stall=self.source_stall, beside=["begins"])

    async def begin(self):
        await super().begin()
        await self.play(
            [
                {"write": {"valid": 1, "node": node, "route": {"port": port, "known": 1}}}
                for node, port in ROUTES.items()
            ]
        )
        self.events = self.record("events", "events")
        return self

    @property
    def taken(self):
        """Return the cycles in which beats were taken."""
        return self.axis.cycles

    def send(self, beats):
        self.sent.append(beats)
        named = [beat | {"begins": not k} for k, beat in enumerate(as_beats(beats))]
        self.axis.extend(named)

    def judge(self, beats):
        """Return what leaves of a packet, and the event of each beat that is not only bytes."""
        most, dest = self.params.packet_beats, beats[0][0].to_bytes(64, "little")[52:56]
        node = int.from_bytes(dest, "big")
        if beats[0][1] != FULL or len(beats) == 1:
            return [], {0: "short"}
        if node not in ROUTES:
            return [], {0: "no_route"}
        left = [{"egress": ROUTES[node], "beat": beat} for beat in as_beats(beats[:most])]
        if len(beats) <= most:
            return left, {}
        left[-1]["beat"] |= {"tlast": 1, "tuser": 1}
        return left, {most - 1: "cut"}

    async def finish(self):
        """Wait for the end and compare all; return what happened, counted."""
        await self.settle(40)
        beats, expected, events, self.passed = 0, [], {}, []
        for packet in self.sent:
            left, happens = self.judge(packet)
            expected += left
            self.passed += self.taken[beats : beats + len(left)]
            for k, beat in enumerate(packet):
                result = {name: int(happens.get(k) == name) for name in PORT_EVENTS.members}
                result |= {"packet": beat[2], "bytes": beat[1].bit_count()}
                events[self.taken[beats] + EVENTS_LATENCY] = result
                beats += 1
        assert self.o.beats == expected
        seen = [record["events"] for record in self.events.beats]
        assert dict(zip(self.events.cycles, seen, strict=True)) == events
        return Counter(
            name for result in events.values() for name, value in result.items() if value
        )


@crossed(stalls=STALLS)
async def passes_what_has_a_route(dut, stalls):
    """Packets have any length up to a beat above the MTU, in any order; broken ones stay so."""
    bench = await PortBench(dut, stalls).begin()
    most = bench.params.packet_beats
    for _ in range(300):
        dest = random.choice((*ROUTES, *ROUTES, 3, 6, 7, 8, 1 << 31, (1 << 16) + 1))
        beats = random.choice((1, 2, 3, most - 1, most, most + 1, 3 * most))
        keep = (1 << random.choice((1, 52, 56, 63, 64, 64, 64))) - 1
        bench.send(packet(dest, beats, keep=keep, broken=random.random() < 0.2))
    result = await bench.finish()
    assert min(result[name] for name in PORT_EVENTS.members) > 10
    if stalls is Stalls.NONE:  # a beat a cycle, at the latency
        first = bench.taken[0]
        assert bench.taken == [*range(first, first + len(bench.taken))]
        late = bench.component.latency
        assert bench.o.cycles == [taken + late for taken in bench.passed]


@benched(PortBench)
async def an_endless_packet_ends(bench):
    """What follows it is the next packet, whether it passed, had no route or was short."""
    for dest in (0, 3):
        for keep in (FULL, 1):
            beats = packet(dest, 400)
            beats[0] = (beats[0][0], keep, *beats[0][2:])
            bench.send(beats)
            bench.send(packet(1, 2))
    result = await bench.finish()
    assert (result["cut"], result["no_route"], result["short"]) == (1, 1, 2)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def waits_while_nobody_takes(dut):
    """As many beats come in as there is room for, and none is lost."""
    bench = await PortBench(dut, (never, always)).begin()
    for _ in range(8):
        bench.send(packet(random.choice([*ROUTES]), bench.params.packet_beats))
    await ClockCycles(dut.clk, 40)
    assert len(bench.taken) == WAITING_BEATS
    bench.o.stall = never
    await bench.finish()


@benched(PortBench)
async def drops_the_rest_of_what_a_reset_cuts(bench):
    """A reset comes at each beat, the last too, and between packets; all behind it pass."""
    lengths = (2, 3, bench.params.packet_beats, 2)
    falls = set()  # in the cycle of this beat, or behind all
    for after in range(sum(lengths) + 4):
        sent = [packet(random.choice([*ROUTES]), beats) for beats in lengths]
        taken, left = len(bench.taken), len(bench.o.beats)
        for turn in ("reset", "send") if not after else ("send", "reset"):
            if turn == "send":
                for beats in sent:
                    bench.send(beats)
                await bench.wait(after - 1)
                continue
            bench.dut.rst.value = 1
            await bench.edge
            bench.dut.rst.value, reset = 0, cycle()
        while bench.axis.missing:
            await bench.edge
        await bench.wait(SwitchPort.latency + 2)
        expected = []
        for beats in sent:
            if bench.taken[taken] > reset:
                expected += bench.judge(beats)[0]
            taken += len(beats)
        cycles = bench.o.cycles[left:]
        behind = left + sum(at <= reset for at in cycles)
        assert bench.o.beats[behind:] == expected, after
        falls.add(sum(at <= reset for at in bench.taken[taken - sum(lengths) :]))
    assert falls == {*range(sum(lengths) + 1)}
