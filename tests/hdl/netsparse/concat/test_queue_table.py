import random
from collections import deque

import cocotb
from cocotb.triggers import FallingEdge, Timer

from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.concat.concatenator_params import LINE_BYTES, ConcatenatorParams
from hdl.netsparse.concat.queue_table import QueueTable
from hdl.netsparse.protocol import PR_LAYER
from sim.harness.bench import Bench
from sim.harness.streams import crossed, never, often, rarely
from tests.simulated import simulated

SIZES = [  # room for four PRs of 62 bytes, to the last byte
    ConcatenatorParams(
        payload=payload, nodes=3, mtu=384, most_property_bytes=128, pool=40, destinations=8
    )
    for payload in (False, True)
]
test_queue_table = simulated(QueueTable, SIZES, __name__)


def arrivals(params, queue, length, *, alone, error):
    """Return the beats of a PR, as they come from the input."""
    size = length if params.payload and not error else 0
    parts = [min(64, size - k) for k in range(0, size, 64)] or [0]
    return [
        {
            "first": k == 0,
            "last": k == len(parts) - 1,
            "alone": alone,
            "error": error,
            "queue": queue,
            "dest": queue % params.nodes,
            "length": length,
            "bytes": part + 18 * (k == 0),
            "pr": random.getrandbits(PR_LAYER.size),
        }
        | ({"data": random.getrandbits(8 * BEAT_BYTES)} if params.payload else {})
        for k, part in enumerate(parts)
    ]


class TableBench(Bench):
    """Gives lines, entries and room as they come, and records packets as they are marked."""

    def __init__(self, dut, short, busy):
        super().__init__(dut)
        self.short, self.busy = short, busy
        self.taken = deque()  # beats that have not moved on
        self.open = {}  # queue: [its EQ entry, PRs' lengths so far, bytes, lines]
        self.inside = None  # the queue of a PR under way
        self.late = False  # its packet has expired meanwhile
        self.head = 0  # of the EQ: the queue that may expire
        self.marks = {queue: [] for queue in range(self.params.queues)}
        self.expired = 0

    async def turn(self, beat=None, expire=0.0):
        """Play a cycle; return whether the beat was taken in."""
        dut, params = self.dut, self.params
        dut.valid.value = beat is not None
        if beat is not None:
            self.set(arrival=beat)
        dut.free.value = random.randint(0, params.pr_lines) if self.short() else params.pr_lines
        dut.ready.value, dut.admits.value = not self.short(), not self.short()
        dut.waits.value = self.busy()
        dut.free_line.value = line = random.randrange(params.lines)
        dut.entry.value = entry = random.getrandbits(params.entry_bits)
        dut.expired.value = self.head
        expired = self.head if self.head in self.open else None
        if random.random() >= expire or (expired == self.inside and self.late):
            expired = None
        dut.expires.value = expired is not None
        oldest = random.choice(list(self.open)) if self.open else None
        dut.oldest.value = behind = 0 if oldest is None else oldest
        dut.follows.value = follows = expired is not None or random.random() < 0.7
        self.head = behind if follows else self.head
        await Timer(1, "step")
        assert int(dut.open.value) == sum(1 << queue for queue in self.open)
        assert int(dut.read.value) == (beat is not None and 1 << beat["queue"])
        inside = self.taken[0] if self.taken else None
        assert int(dut.decided.value) == (inside is not None and 1 << inside["queue"])
        if inside is not None and inside["first"]:
            size = 18 + inside["length"] * (params.payload and not inside["error"])
            goes = dut.ready.value and dut.admits.value
            goes = goes and int(dut.free.value) >= -(-size // LINE_BYTES)
            assert goes or not dut.moves.value
            if inside["queue"] not in self.open and expired is None:
                assert goes == dut.moves.value
        if oldest is not None:
            assert dut.oldest_open.value
            assert int(dut.oldest_entry.value) == self.open[oldest][0]
        if expired is not None and expired != self.inside:
            assert dut.expires_now.value
            self.mark(expired, self.value("expired_now"))
            self.expired += 1
        else:
            assert not dut.expires_now.value
            self.late |= expired is not None
        if dut.waits.value and expired is not None:
            assert not dut.closes.value
        self.decide(entry, line)
        taken = bool(dut.advance.value)
        if beat is not None and taken:
            self.taken.append(beat)
        await FallingEdge(dut.clk)
        return taken

    def decide(self, entry, line):
        """Return what the beat inside does to its queue's packet."""
        dut = self.dut
        beat = self.value("beat")
        queue = beat["queue"]
        if not dut.moves.value:
            assert not dut.opens.value
            assert not dut.takes.value
            if dut.closes.value:
                self.mark(queue, self.value("closed"))
            return
        assert dut.decided.value
        assert beat == self.taken.popleft()
        if beat["first"]:
            assert self.inside is None
        else:
            assert queue == self.inside
            assert not dut.opens.value
        if dut.opens.value:
            assert dut.ready.value
            assert dut.admits.value
            assert queue not in self.open
            self.open[queue] = [entry, [], 0, [line]]
        packet = self.open[queue]
        assert int(dut.offset.value) == packet[2] % LINE_BYTES
        packet[2] += beat["bytes"]
        if beat["first"]:
            packet[1].append((beat["length"], beat["alone"], beat["error"]))
        fresh = -(-packet[2] // LINE_BYTES) > len(packet[3]) or dut.opens.value
        assert bool(dut.takes.value) == bool(fresh)
        if fresh:
            assert dut.links.value == (not dut.opens.value)
        if fresh and not dut.opens.value:
            assert int(dut.line.value) == packet[3][-1]
            packet[3].append(line)
        self.inside = None if beat["last"] else queue
        if dut.closes.value:
            assert beat["last"]
            self.mark(queue, self.value("closed"))
        else:
            assert not (beat["last"] and self.late), "it has expired"
        if beat["last"]:
            self.late = False

    def mark(self, queue, mark):
        _, prs, used, lines = self.open.pop(queue)
        assert (mark["dest"], mark["prs"]) == (queue % self.params.nodes, len(prs))
        assert (mark["used"], mark["first"]) == (used, lines[0])
        assert used <= self.params.room
        assert {(mark["length"], mark["error"])} == {(length, error) for length, _, error in prs}
        assert len(prs) == 1 or not any(alone for _, alone, _ in prs)
        self.marks[queue].append(prs)


def packets_of(params, prs):
    """Apply the rule: a PR joins if it has the same length, stands not alone, and fits."""
    packets, ended = [], True
    for length, alone, error in prs:
        size = 18 + (length if params.payload else 0)
        if ended or alone or packets[-1][0][0] != length:
            packets.append([])
        packets[-1].append((length, alone, error))
        ended = alone or (len(packets[-1]) + 1) * size > params.room
    return packets


async def run(dut, short, busy, expire):
    bench = await TableBench(dut, short, busy).begin()
    params = bench.params
    await FallingEdge(dut.clk)
    sent = {queue: [] for queue in range(params.queues)}
    # Some of them fill a packet to the last byte, or but for a few.
    lengths, beats = [4, 22, 28, 36, 46, 62, 64, 88, 90, 100, 128], []
    for _ in range(400):
        queue = random.choice([0, 1, random.randrange(params.queues)])
        length = sent[queue][-1][0] if sent[queue] and random.random() < 0.8 else None
        length = length or random.choice(lengths)
        error = int(params.payload and random.random() < 0.1)
        alone = error or int(random.random() < 0.05)
        sent[queue].append((length, alone, error))
        beats += arrivals(params, queue, length, alone=alone, error=error)
    turns = 0
    for beat in beats:
        while not await bench.turn(beat, expire):
            turns += 1
        turns += 1
    for _ in range(100):
        await bench.turn()
    for queue, prs in sent.items():
        left = [bench.open[queue][1]] if queue in bench.open else []
        marked = bench.marks[queue] + left
        assert [pr for packet in marked for pr in packet] == prs
        if not expire:
            assert marked == packets_of(params, prs)
    return bench, turns, len(beats)


@crossed(short=[never, rarely, often], us=200)
async def packets_by_the_rule(dut, short):
    await run(dut, short, never, 0)


@crossed(short=[never, often], busy=[never, often], us=200)
async def packets_expire_whole(dut, short, busy):
    bench, _, _ = await run(dut, short, busy, 0.3)
    assert bench.expired > 30


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_beat_a_cycle(dut):
    """Only packets that are marked to make room for another length take a cycle more."""
    bench, turns, beats = await run(dut, never, never, 0)
    packets = sum(len(item) for item in bench.marks.values())
    assert beats <= turns <= beats + packets
