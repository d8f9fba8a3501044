"""Drives a concatenator, records all that happens, and has the golden model check it."""

import random

import numpy as np

from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.concat.deconcatenator_params import Drop
from sim.harness.bench import Bench
from sim.harness.streams import never
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
from sim.netsparse.links import Receiver

SETTLING = 12  #: cycles that the virtual form may take to see that its pool is short
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


class ConcatenatorBench(Bench):
    """Feeds and watches a concatenator; ``finish`` checks everything."""

    def __init__(self, dut, stalls=(never, never), **settings):
        super().__init__(dut, stalls)
        bits = random.getrandbits
        self.settings = {
            "delay": self.params.most_delay,
            "concatenate": 1,
            "node": random.randrange(self.params.nodes),
            "mac_base": bits(48),
            "ip_base": bits(32),
        } | settings
        self.set(settings=self.settings)
        self.requests, self.firsts, self.lasts, self.edges, self.labels = [], [], [], [], []
        self.beats = 0

        beside = ["label"] if self.params.label_bits else []
        self.axis = Receiver(dut, "axis", stall=self.sink_stall, beside=beside)
        self.recorder, self.empties = self.record("events", "events"), self.record("empty")

    async def begin(self, *, first=True):
        """Come out of reset, unless it is not the ``first`` bench, and watch."""
        await super().begin() if first else self.connect()
        await self.wait(FIRST_LINES)
        return self

    async def reset(self):
        """Forget everything, as the component does."""
        self.axis.stop()
        self.check_empty()
        self.dut.rst.value = 1
        await self.wait(2)
        self.dut.rst.value = 0

    def events(self, name):
        """Return all cycles in which event ``name`` happened, and what else happened in each."""
        beats = [record["events"] for record in list.__iter__(self.recorder.beats)]
        result = zip(list.__iter__(self.recorder.cycles), beats, strict=True)
        return {now: events for now, events in result if events.get(name)}

    @property
    def entered(self):
        """Return the cycles in which PRs entered their queues."""
        return [*self.events("entered")]

    @property
    def marked(self):
        """Return the cycles in which packets were marked."""
        return [*self.events("marked")]

    @property
    def stall_cycles(self):
        """Count the cycles in which a PR waited at the input."""
        return len(self.events("stall"))

    def check_empty(self):
        """Check that ``empty`` is low from a PR's first beat until its packet has left."""
        moved, left = self.prs.cycles, self.events("packet")
        came = [moved[first] for first in self.firsts if first < len(moved)]
        gone = np.cumsum([0, *(events["prs"] for events in left.values())])
        empty = np.array(self.empties.cycles)
        assert (gone[np.searchsorted([*left], empty)] >= np.searchsorted(came, empty)).all()

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
        await self.prs.send_all(beats)

    async def empty(self):
        """Wait until nothing is inside."""
        await self.wait(4)
        await self.until("empty", 1)
        await self.wait(2)

    def rules(self, flushed):
        limits = {}
        if self.params.virtual:
            limits = {
                "settling": SETTLING,
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
        moved = self.prs.cycles
        assert len(moved) == self.beats
        self.check_empty()
        wires = [packet.wire for packet in self.axis.packets]
        entered, marked = self.entered, self.marked
        labels = [{beat.get("label", 0) for beat in packet.beats} for packet in self.axis.packets]
        assert not any(beat["tuser"] for packet in self.axis.packets for beat in packet.beats)
        arrivals = [
            Arrival(
                request=pr,
                moved=moved[first],
                entered=at,
                starts=edge[0],
                ends=edge[1],
                label=label,
            )
            for pr, first, at, edge, label in zip(
                self.requests, self.firsts, entered, self.edges, self.labels, strict=True
            )
        ]
        departures = [
            Departure(wire=wire, marked=at, label=label)
            for wire, at, (label,) in zip(wires, marked, labels, strict=True)
        ]
        for last, at in zip(self.lasts, entered, strict=True):
            assert at >= moved[last] + self.component.entry_latency
        settings = self.settings
        addresses = Addresses(mac_base=settings["mac_base"], ip_base=settings["ip_base"])
        ledger = Ledger(arrivals, departures, self.rules(flushed), settings["node"], addresses)
        prs = [len(packet.prs) for packet in ledger.packets]
        counted = [(events["bytes"], events["prs"]) for events in self.events("packet").values()]
        assert counted == list(zip(map(len, wires), prs, strict=True))
        carried = sum(len(pr.data) + 18 for pr in self.requests)
        assert sum(map(len, wires)) == carried + HEADER_BYTES * len(prs)
        self.pr_counts = prs
        if self.params.credits:
            self.check_credits(ledger)
        return ledger

    def check_credits(self, ledger):
        """Check that PRs told by how many beats they made packets longer, and these are all."""
        late, credits = self.component.credit_latency, self.events("credit")
        assert [*credits] == [at + late for at in self.entered]
        grown = {at - late: events["grows"] for at, events in credits.items()}
        assert sum(grown.values()) == len(self.axis.beats)
        for packet in ledger.packets:
            beats, size = 0, HEADER_BYTES
            for pr in packet.prs:
                size += pr.request.wire_bytes
                assert grown[pr.entered] == -(-size // BEAT_BYTES) - beats, pr
                beats = -(-size // BEAT_BYTES)


def number(octets, at, size):
    return int.from_bytes(octets[at : at + size], "big")


def verdict(beats, params, node):
    """Return why the specification drops a packet, or None, and the packet's bytes."""
    octets = b"".join(data.to_bytes(64, "little") for data, *_ in beats)
    stored = [bool(keep >> k & 1) for _, keep, _, _ in beats for k in range(64)]
    size = sum(stored)
    if beats[-1][3]:
        return Drop.BROKEN, octets
    own = (octets[12:14], octets[14], octets[23], octets[36:38])
    if not all(stored[:38]) or own != (b"\x08\x00", 0x45, 17, b"NS"):
        return Drop.FOREIGN, octets
    if len(beats) > -(-params.mtu // 64) or any(stored[params.mtu :]):
        return Drop.OVERSIZE, octets
    if not all(stored[:64]):
        return Drop.LENGTH, octets
    kind, dest, length, prs = (
        number(octets, at, size) for at, size in ((50, 2), (52, 4), (56, 4), (60, 4))
    )
    if kind not in ((2, 3) if params.payload else (1,)):
        return Drop.KIND, octets
    if dest >= params.nodes if params.any_dest else dest != node:
        return Drop.DEST, octets
    each = 18 + (length if kind == 2 else 0)
    if (
        not all(stored[:size])
        or size <= 64 * (len(beats) - 1)
        or not (prs >= 1 and size == 64 + prs * each)
        or (kind == 3 and prs != 1)
        or length % 4
        or not 4 <= length <= params.most_property_bytes
        or number(octets, 16, 2) != size - 14
        or number(octets, 38, 2) != size - 34
    ):
        return Drop.LENGTH, octets
    if any(number(octets, at, 4) >= params.nodes for at in range(64, size, each)):
        return Drop.SOURCE, octets
    return None, octets[:size]


def ideal(bench, prs):
    """Return the cycles that the PRs and the packets' beats need at least."""
    sizes = [request.wire_bytes for request in bench.requests]
    ends = [sum(prs[: k + 1]) for k in range(len(prs))]
    packets = [sum(sizes[end - n : end]) for end, n in zip(ends, prs, strict=True)]
    return max(bench.beats, sum(1 + -(-size // 64) for size in packets))


async def rotate(dut, count, nodes, length):
    """Return PRs for packets of ``count``: destinations take turns, so each gathers this many."""
    delay = count * nodes - 2  # the packet is marked a cycle before the next PR comes
    bench = await ConcatenatorBench(dut, delay=delay).begin()
    rounds = count * max(600 // (count * nodes), 1)
    dests = list(range(nodes)) * rounds
    await bench.send([request(bench.params, dest, length) for dest in dests])
    await bench.finish()
    assert bench.pr_counts == [count] * (len(dests) // count)
    least = ideal(bench, bench.pr_counts)
    taken = bench.axis.packets[-1].ended - bench.prs.cycles[0] + 1
    assert taken <= least + delay + len(bench.axis.beats) * nodes // len(bench.pr_counts) + 20
    if count > 1:
        assert bench.stall_cycles == 0
