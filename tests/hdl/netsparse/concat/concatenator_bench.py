"""Drives a concatenator, records all that happens, and has the golden model check it."""

import random
from dataclasses import dataclass, field

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.concat.concatenator import Concatenator
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from sim.harness.payloads import pack, unpack
from sim.harness.streams import Source, cycle, never, start
from sim.harness.verilator import component_in_simulator, params_in_simulator
from sim.netsparse.golden.concatenation import (
    HEADER_BYTES,
    Addresses,
    Arrival,
    Departure,
    Kind,
    Ledger,
    Request,
    Rules,
)

FIRST_LINES = 10  #: cycles until there are free lines after reset


def request(params, dest, length=4, *, error=False, bits=random.getrandbits):
    """Return a PR with fields of ``bits`` and, if it is a response, a random property."""
    kind = Kind.READ if not params.payload else Kind.ERROR if error else Kind.RESPONSE
    return Request(
        kind=kind,
        dest=dest,
        length=length,
        src=bits(32),
        tid=bits(16),
        idx=bits(64),
        id=bits(32),
        data=random.randbytes(length) if kind == Kind.RESPONSE else b"",
    )


def zeros(width):
    """Return ``bits`` of a PR in which every field is zero."""
    return 0


def ones(width):
    """Return ``bits`` of a PR in which every bit of every field is set."""
    return (1 << width) - 1


def beats_of(params, pr, starts=True, ends=True, label=0):
    """Return the beats of a PR; what is after the end of a property is garbage.

    In form of groups ``starts`` counts with its first beat and ``ends`` with its last; in others
    they are anything.
    """
    beats = plain_beats(params, pr)
    if params.groups:
        for beat in beats:
            beat |= {"starts": random.getrandbits(1), "ends": random.getrandbits(1)}
        beats[0]["starts"], beats[-1]["ends"] = starts, ends
    if params.label_bits:
        for beat in beats:
            beat["label"] = label
    return beats


def plain_beats(params, pr):
    """Return those of a form without groups."""
    fields = {"src": pr.src, "tid": pr.tid, "idx": pr.idx, "id": pr.id}
    beat = {"dest": pr.dest, "length": pr.length, "pr": fields}
    if not params.payload:
        return [beat]
    count = max(-(-len(pr.data) // BEAT_BYTES), 1)
    data = pr.data + random.randbytes(count * BEAT_BYTES - len(pr.data))
    return [
        beat
        | {
            "error": pr.kind == Kind.ERROR,
            "last": k == count - 1,
            "data": int.from_bytes(data[BEAT_BYTES * k :][:BEAT_BYTES], "little"),
        }
        for k in range(count)
    ]


@dataclass
class Packets:
    """Collects the packets that leave, and when; checks them against the stream's rules."""

    dut: object
    stall: object = never
    labelled: bool = False
    wires: list = field(default_factory=list)
    labels: list = field(default_factory=list)  #: of packets
    ends: list = field(default_factory=list)  #: cycles of last beats
    starts: list = field(default_factory=list)
    beats: int = 0

    async def watch(self):
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        waiting, wire = None, b""
        dut.axis_tready.value = not self.stall()
        while True:
            await edge
            ready = int(dut.axis_tready.value)
            if self.stall is not never or not ready:
                dut.axis_tready.value = not self.stall()
            if not dut.axis_tvalid.value:
                assert waiting is None, "a waiting beat went away"
                continue
            keep, last = int(dut.axis_tkeep.value), int(dut.axis_tlast.value)
            label = int(dut.label.value) if self.labelled else 0
            beat = (int(dut.axis_tdata.value), keep, last, int(dut.axis_tuser.value), label)
            assert waiting in (None, beat), "a waiting beat changed"
            waiting = beat
            if not ready:
                continue
            waiting = None
            count = keep.bit_length()
            assert count
            assert keep == (1 << count) - 1
            assert last or count == BEAT_BYTES
            assert not beat[3]
            if not wire:
                self.starts.append(cycle())
                self.labels.append(label)
            assert label == self.labels[-1]
            wire += beat[0].to_bytes(BEAT_BYTES, "little")[:count]
            self.beats += 1
            if last:
                self.wires.append(wire)
                self.ends.append(cycle())
                wire = b""


class Bench:
    """Feeds and watches a concatenator; ``finish`` checks everything."""

    def __init__(self, dut, *, stalls=(never, never), **settings):
        self.dut = dut
        self.params = params_in_simulator(ConcatenatorParams)
        component = component_in_simulator()
        assert isinstance(component, Concatenator)
        self.component = component
        bits = random.getrandbits
        self.settings = {
            "delay": self.params.most_delay,
            "concatenate": 1,
            "node": random.randrange(self.params.nodes),
            "mac_base": bits(48),
            "ip_base": bits(32),
        } | settings
        self.stalls = stalls
        self.requests, self.firsts, self.lasts, self.edges, self.labels = [], [], [], [], []
        self.entered, self.marked, self.counted = [], [], []
        self.credits, self.grown = [], []
        self.left = self.stall_cycles = 0
        self.beats = 0

    async def start(self, *, first=True):
        """Start the clock, unless it is not the ``first`` bench, and watch."""
        self.dut.settings.value = pack(self.params.settings, self.settings)
        self.dut.axis_tready.value = self.dut.flush.value = 0
        if first:
            await start(self.dut)
        self.source = Source(self.dut, "prs", stall=self.stalls[0])
        self.packets = Packets(self.dut, self.stalls[1], bool(self.params.label_bits))
        self.watchers = [
            cocotb.start_soon(self.packets.watch()),
            cocotb.start_soon(self.watch_events()),
        ]
        await self.wait(FIRST_LINES)
        return self

    async def reset(self):
        """Forget everything, as the component does."""
        for watcher in self.watchers:
            watcher.cancel()
        self.dut.axis_tready.value = 0
        self.dut.rst.value = 1
        await self.wait(2)
        self.dut.rst.value = 0

    async def watch_events(self):
        edge = RisingEdge(self.dut.clk)
        while True:
            await edge
            events = unpack(self.params.events, int(self.dut.events.value))
            now = cycle()
            assert not (self.holds_some(now) and self.dut.empty.value)
            if events["entered"]:
                self.entered.append(now)
            if events.get("credit"):
                self.credits.append(now)
                self.grown.append(events["grows"])
            if events["marked"]:
                self.marked.append(now)
            if events["packet"]:
                self.counted.append((events["bytes"], events["prs"]))
                self.left += events["prs"]
            self.stall_cycles += events["stall"]

    def holds_some(self, now):
        """Whether a PR that came before this cycle is in no packet that has left before it."""
        moved = self.source.cycles
        beats = len(moved) - (bool(moved) and moved[-1] == now)
        return self.left < len(self.firsts) and self.firsts[self.left] < beats

    async def send(self, requests, edges=None, labels=None):
        """Send PRs; returns when the last has moved.

        ``edges`` says of each whether it starts a group and whether it ends one; else each does
        both, or, if all may be concatenated, anything. ``labels`` are theirs; else those for one
        destination have one.
        """
        beats = []
        for k, pr in enumerate(requests):
            self.requests.append(pr)
            edge = edges[k] if edges else (True, True)
            if self.settings["concatenate"]:
                edge = bool(random.getrandbits(1)), bool(random.getrandbits(1))
            self.edges.append(edge)
            label = labels[k] if labels else pr.dest % (1 << self.params.label_bits)
            self.labels.append(label)
            own = beats_of(self.params, pr, *edge, label)
            self.firsts.append(self.beats)
            self.beats += len(own)
            self.lasts.append(self.beats - 1)
            beats += own
        await self.source.send_all(beats)

    async def wait(self, cycles):
        await ClockCycles(self.dut.clk, cycles)

    async def empty(self):
        """Wait until nothing is inside."""
        await self.wait(4)
        while not self.dut.empty.value:
            await RisingEdge(self.dut.clk)
        await self.wait(2)

    def rules(self, flushed):
        limits = {}
        if self.params.virtual:
            limits = {
                "open_packets": self.params.queues - 4,
                "open_lines": self.params.lines - self.params.reserve - self.params.pr_lines,
            }
        return Rules(
            mtu=self.params.mtu,
            delay=self.settings["delay"],
            concatenate=bool(self.settings["concatenate"]),
            lateness=self.component.lateness,
            flushed=flushed,
            **limits,
        )

    async def finish(self, flushed=None):
        """Wait for the end, check everything, return the ledger. ``flushed``: see ``Rules``."""
        await self.empty()
        moved = self.source.cycles
        assert len(moved) == self.beats
        assert len(self.entered) == len(self.requests)
        assert len(self.marked) == len(self.packets.wires)
        arrivals = [
            Arrival(
                request=pr,
                moved=moved[first],
                entered=entered,
                starts=edge[0],
                ends=edge[1],
                label=label,
            )
            for pr, first, entered, edge, label in zip(
                self.requests, self.firsts, self.entered, self.edges, self.labels, strict=True
            )
        ]
        departures = [
            Departure(wire=wire, marked=marked, label=label)
            for wire, marked, label in zip(
                self.packets.wires, self.marked, self.packets.labels, strict=True
            )
        ]
        for last, entered in zip(self.lasts, self.entered, strict=True):
            assert entered >= moved[last] + self.component.entry_latency
        settings = self.settings
        addresses = Addresses(mac_base=settings["mac_base"], ip_base=settings["ip_base"])
        ledger = Ledger(arrivals, departures, self.rules(flushed), settings["node"], addresses)
        prs = [len(packet.prs) for packet in ledger.packets]
        assert self.counted == list(zip(map(len, self.packets.wires), prs, strict=True))
        carried = sum(len(pr.data) + 18 for pr in self.requests)
        assert sum(map(len, self.packets.wires)) == carried + HEADER_BYTES * len(prs)
        self.prs = prs
        if self.params.credits:
            self.check_credits(ledger)
        return ledger

    def check_credits(self, ledger):
        """Check that PRs told by how many beats they made packets longer, and these are all."""
        assert self.credits == [at + self.component.credit_latency for at in self.entered]
        assert sum(self.grown) == self.packets.beats
        grown = dict(zip(self.entered, self.grown, strict=True))
        for packet in ledger.packets:
            beats, size = 0, HEADER_BYTES
            for pr in packet.prs:
                size += pr.request.wire_bytes
                assert grown[pr.entered] == -(-size // BEAT_BYTES) - beats, pr
                beats = -(-size // BEAT_BYTES)
