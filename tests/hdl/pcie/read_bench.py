"""Surrounds a requester of reads: checks what it sends on RQ, and answers on RC by the golden
model.

Every packet of RC is placed as the block may place it: behind the one before, at a dword where
packets may begin; with pauses between beats, but none within one.
"""

import random
from collections import deque
from types import SimpleNamespace

import cocotb
from cocotb.triggers import Event

from hdl.pcie.axis import rc_user
from hdl.pcie.descriptors import COMPLETION
from hdl.pcie.params import BANKS
from sim.golden.pcie_requester import (
    Cause,
    Outstanding,
    Read,
    as_they_complete,
    cut,
    in_order,
    some_split,
)
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.records import Recorder
from sim.harness.streams import cycle, never
from tests.hdl.pcie.rq_monitor import RqMonitor

WIDTHS = {name: field.width for name, field in COMPLETION}


def content(address):
    """Return the dword at an address of the host's memory."""
    return (address * 2654435761 + (address >> 20)) & 0xFFFFFFFF


def packet(tag, completion):
    """Return the dwords of a completion on RC, with data of the host's memory."""
    c = completion
    descriptor = pack(
        COMPLETION,
        {
            **{name: random.getrandbits(width) for name, width in WIDTHS.items()},
            "address": c.address % 4096,
            "code": int(c.code),
            "remaining": c.remaining,
            "completed": c.completed,
            "dwords": c.dwords,
            "status": int(c.status),
            "poisoned": c.poisoned,
            "tag": tag,
        },
    )
    data = [content(c.address + 4 * k) for k in range(c.dwords)]
    return [descriptor >> 32 * k & 0xFFFFFFFF for k in range(3)] + data, c.discontinued


class RcPacker:
    """Lays ``packets``, each a pair of dwords and whether it is discontinued, into beats of RC."""

    def __init__(self, params, straddle=4):
        self.params, self.user = params, rc_user(params.data_bits)
        # One, two or four packets of 512 bits; of 256 as many as there are segments.
        straddle = min(straddle, params.packets)
        self.begins = set(range(0, params.packets, params.packets // straddle))
        self.packets = deque()
        self.rest = None  # of the packet that goes on

    def beat(self):
        """Return data and ``tuser`` of a beat that ends the last packet and begins others."""
        rest = self.rest
        lanes, count = self.params.lanes, self.params.packets
        dwords, starts, ends, discontinue = [random.getrandbits(32)] * lanes, [], [], 0
        for segment in range(count):
            if rest is None:
                if segment not in self.begins or not self.packets:
                    continue
                data, discontinued = self.packets[0]
                fits = len(data) <= lanes - 4 * segment
                if ends and fits and discontinue != discontinued:  # the bit is of all that end
                    continue
                rest = self.packets.popleft()
                starts.append(segment)
            data, discontinued = rest
            near = data[:4]
            dwords[4 * segment : 4 * segment + len(near)] = near
            rest = (data[4:], discontinued) if data[4:] else None
            if rest is None:
                ends.append(4 * segment + len(near) - 1)
                discontinue |= discontinued
        user = {name: random.getrandbits(4 * lanes) for name in ("enables", "parity")}
        user |= {"discontinue": discontinue}
        fill = [[random.randrange(4) for _ in range(count - len(some))] for some in (starts, ends)]
        if self.params.data_bits == 512:
            user |= {
                "starts": (1 << len(starts)) - 1,
                "start_segment": starts + fill[0],
                "ends": (1 << len(ends)) - 1,
                "end_dword": ends + fill[1],
            }
        else:
            user |= {
                "starts": (1 << len(starts)) - 1,
                "ends": [{"valid": 1, "dword": end} for end in ends]
                + [{"valid": 0, "dword": dword} for dword in fill[1]],
            }
        bits = sum(dword << 32 * k for k, dword in enumerate(dwords))
        self.rest = rest
        return bits, pack(self.user, user)


class ReadBench(Bench):
    """A block and a host whose answers the test decides, with what the user asks and gets."""

    def __init__(self, dut, stalls=(never, never), straddle=4):
        super().__init__(dut, stalls, limit=2)
        self.packer = RcPacker(self.params, straddle)
        self.packets = self.packer.packets  # (dwords, discontinued) that are to come
        self.takes = True  # RQ
        self.limit = 512
        self.required = []  # requests: (reads, user)
        self.sent = []  # (tag, Outstanding), in the order of RQ
        self.under_way = {}  # tag -> Outstanding
        self.ended = []  # Outstanding, in the order of RC
        self.news = Event()  # something was sent, or RC has taken something
        self.events = self.tally()
        inside = SimpleNamespace(clk=dut.clk, rst=dut.rst, placed=dut.placer.placed)
        self.placed = Recorder(inside, "", {"placed": None})
        self.rq = RqMonitor(dut, stall=lambda: not self.takes or stalls[0](), callback=self.enter)

    @property
    def sent_cycles(self):
        return [packet.begun for packet in self.rq.packets]

    # What the user does.

    def issue(self, address, size):
        user = 77 * len(self.required) % (1 << self.params.user_bits)  # not the one before
        self.required.append((cut(address, size, min(self.limit, self.params.max_read)), user))
        self.requests.append({"address": address, "bytes": size, "user": user})

    async def fill(self, place):
        """Ask for the address and the size of ``place`` of each tag; wait until all are sent."""
        for k in range(self.params.tags):
            self.issue(*place(k))
        await self.happened(lambda: len(self.under_way) == self.params.tags)

    def beats_of(self, turn):
        """Return a read's beats: bytes, last, user, cause, place, and data if there is no cause."""
        step, read, result = self.params.data_bits // 8, turn.read, []
        _, user = self.required[turn.request]
        for start in range(read.address, read.end, step):
            count = min(step, read.end - start)
            last = turn.last and start + count == read.end
            data = [content(start + 4 * k) for k in range(-(-count // 4))]
            place = None if self.params.in_order else turn.place + start - read.address
            result.append((count, last, user, turn.cause, place, None if turn.cause else data))
        return tuple(result)

    def received(self):
        """Return the beats that have come, in the same form as :meth:`beats_of`."""
        return [
            (
                beat["bytes"],
                bool(beat["last"]),
                beat["user"],
                Cause(int(beat["cause"].value)),
                beat.get("place"),
                None
                if beat["cause"].value
                else [beat["data"] >> 32 * k & 0xFFFFFFFF for k in range(-(-beat["bytes"] // 4))],
            )
            for beat in self.beats.beats
        ]

    def check(self):
        """Compare what has come with the golden model."""
        sent, requests = iter(self.sent), []
        for reads, _ in self.required:
            requests.append([next(sent)[1] for _ in reads])
            assert [outstanding.read for outstanding in requests[-1]] == reads
        received = self.received()
        if self.params.in_order:
            turns = in_order(requests)
        else:
            turns, timed_out = as_they_complete(requests, self.ended)
            received = self.without(received, [self.beats_of(turn) for turn in timed_out])
        expected = [beat for turn in turns for beat in self.beats_of(turn)]
        for k, (got, required) in enumerate(zip(received, expected, strict=True)):
            assert got == required, f"beat {k}"
        if not any(outstanding.cause for _, outstanding in self.sent):
            dwords = sum(outstanding.read.dwords for _, outstanding in self.sent)
            assert self.written() == dwords, "lanes were written besides those of the data"

    def written(self):
        """Return how many lanes of the buffer have been written."""
        mask = pack(self.params.placed, {"banks": [[{"write": 1}] * self.params.lanes] * BANKS})
        return sum((item["placed"] & mask).bit_count() for item in self.placed.beats)

    def without(self, received, timed_out):
        """Return what has come less the reads that were given up, each of which has come."""
        reads, result = [], []
        for beat in received:
            result.append(beat)
            if beat[1]:
                reads.append(tuple(result))
                result = []
        assert not result
        for read in timed_out:
            reads.remove(read)
        return [beat for read in reads for beat in read]

    def stopped(self):
        """Tell the model which reads a stop cut off, by their beats; return their number."""
        received, sent, at, result = self.received(), iter(self.sent), 0, []
        late = {(beat[2], beat[4]) for beat in received if beat[3] == Cause.STOPPED}
        for reads, user in self.required:
            for read in reads:
                _, outstanding = next(sent)
                if self.params.in_order:
                    gone = received[at][3] == Cause.STOPPED
                    at += -(-read.size // (self.params.data_bits // 8))
                else:
                    gone = (user, read.address - reads[0].address) in late
                if gone:
                    outstanding.abandon(Cause.STOPPED)
                    result.append(outstanding)
        return len(result)

    async def all_have_come(self):
        """Wait until all requests have all their beats."""
        sizes = [read.size for reads, _ in self.required for read in reads]
        await self.beats.wait_for(sum(-(-size // (self.params.data_bits // 8)) for size in sizes))
        await self.wait(20)
        assert self.events["sent"] == len(self.sent)

    async def finish(self):
        """Wait until all requests have all their beats; they are right."""
        await self.all_have_come()
        self.check()

    async def happened(self, happens):
        """Wait until what was sent, or what RC has taken, makes this true."""
        while not happens():
            self.news.clear()
            await self.news.wait()

    async def owes_nothing(self):
        await self.until("owes", 0)

    async def is_idle(self, cycles):
        """Wait until it is idle, so many cycles at most."""
        begun = cycle()
        await self.until("idle", 1)
        assert cycle() - begun <= cycles

    async def tick(self, count=1):
        for _ in range(count):
            await self.strobe(tick=1)
            await self.wait(30)

    def forget(self):
        """Wait for nothing of what was asked and sent any more: there was a reset."""
        self.packer.rest = None
        self.rc.abandon()
        for item in (self.packets, self.required, self.sent, self.under_way, self.ended):
            item.clear()
        self.beats.take()
        self.placed.take()
        self.events.clear()

    # What the block does.

    def enter(self, packet):
        """Check a request, and wait for its completions."""
        result, enables = packet.result, packet.enables
        assert not packet.dwords
        size = 4 * result["dwords"] - (4 - (enables[1] or enables[0]).bit_count())
        outstanding = Outstanding(Read(4 * result["address"], size))
        assert outstanding.read.byte_enables == enables
        tag = result["tag"]
        assert tag < self.params.tags
        assert tag not in self.under_way, "a tag was given twice"
        rest = {"address", "dwords", "kind", "tag"}
        assert not result["kind"].value
        assert not any(value for name, value in result.items() if name not in rest)
        self.sent.append((tag, outstanding))
        self.under_way[tag] = outstanding
        self.news.set()

    def answer(self, tag, *completions):
        """Send completions, and tell the model, which says what becomes of them."""
        for completion in completions:
            outstanding = self.under_way[tag]
            outstanding.take(completion)
            if outstanding.ended:
                del self.under_way[tag]
                self.ended.append(outstanding)
            self.put(tag, completion)

    def put(self, tag, *completions):
        """Send completions, which may be nobody's, from the next cycle on."""
        self.packets.extend(packet(tag, completion) for completion in completions)
        cocotb.start_soon(self.offer())

    async def offer(self):
        await self.wait()
        self.give()

    def give(self, _=None):
        """Send a beat of the completions that have come, if none waits."""
        busy = self.rc.missing or self.dut.rst.value
        if (self.packer.rest or self.packets) and not busy:
            data, user = self.packer.beat()
            self.rc.append({"tdata": data, "tuser": user}, callback=self.give)
        self.news.set()

    # What a host does.

    async def host(self, payload=256, boundary=64, change=None, delay=0):
        """Answer all reads, those under way in any order, each in parts; ``change`` spoils some."""
        at, open_reads = 0, []
        while True:
            for tag, outstanding in self.sent[at:]:
                parts = some_split(outstanding.read, payload, boundary, random.choice)
                open_reads.append((tag, deque(change(parts) if change else parts)))
                at += 1
            enough = len(open_reads) > delay or random.random() < 0.1
            while open_reads and enough and len(self.packets) < 8:
                tag, parts = chosen = random.choice(open_reads)
                self.answer(tag, parts.popleft())
                if not parts:
                    open_reads.remove(chosen)
            if open_reads and not enough:
                await self.wait()
            else:
                self.news.clear()
                await self.news.wait()


def whole(read, payload=256, boundary=64):
    """Return the answer in as few completions as may be."""
    return some_split(read, payload, boundary, max)
