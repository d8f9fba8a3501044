"""Surrounds the Idx Filter: a memory as awkward as AXI allows, units, and their judge."""

import random
from collections import Counter, deque
from dataclasses import dataclass, field

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.axi import Burst, Response
from hdl.netsparse.idx_filter.params import LINE_BYTES, FilterCacheParams
from sim.harness.payloads import pack, unpack
from sim.harness.streams import cycle, never

SMALL = FilterCacheParams(
    units=1,
    banks=1,
    cache_bytes=512,
    ways=2,
    unit_bytes=32,
    idx_bits=16,
    address_bits=16,
    slots=4,
)


@dataclass
class Dram:
    """A memory at the cache's AXI port; ``latency()`` is asked for each transaction.

    A write counts when it is acknowledged; reads and writes are each answered in order. It asserts
    AXI's rules and that no line is read while its write is under way.
    """

    dut: object
    contents: dict[int, int] = field(default_factory=dict)  #: by line address; absent is zero
    latency: object = lambda: 8
    stall: object = never
    bad_reads: set[int] = field(default_factory=set)
    bad_writes: set[int] = field(default_factory=set)
    reads: list[tuple[int, int]] = field(default_factory=list)  #: cycle, address
    read_answers: list[tuple[int, int]] = field(default_factory=list)
    writes: list[tuple[int, int]] = field(default_factory=list)  #: acknowledged
    frozen: bool = False  #: acknowledges and delivers nothing
    closed: tuple[str, ...] = ()  #: of ar, aw and w, those that take nothing

    def __post_init__(self):
        self.ready = {"ar": False, "aw": False, "w": False}
        self.answer = {"r": None, "b": None}
        self.open_reads, self.open_writes = [], []
        self.addresses, self.beats = deque(), deque()
        self.waiting = {}
        cocotb.start_soon(self.run())

    def value(self, name):
        return int(getattr(self.dut, f"axi_{name}").value)

    def drive(self, **values):
        for name, value in values.items():
            getattr(self.dut, f"axi_{name}").value = value

    def taken(self, channel, *fields):
        """Return the beat that moved on ``channel`` at this edge, if any."""
        if not getattr(self.dut, f"axi_{channel}valid").value:
            assert channel not in self.waiting, f"{channel}: a waiting beat went away"
            return None
        beat = [self.value(channel + name) for name in fields]
        assert self.waiting.pop(channel, beat) == beat, f"{channel}: a waiting beat changed"
        if not self.ready[channel]:
            self.waiting[channel] = beat
            return None
        return beat

    async def run(self):
        self.drive(arready=0, awready=0, wready=0, rvalid=0, bvalid=0, rlast=1)
        edge = RisingEdge(self.dut.clk)
        while True:
            await edge
            if self.dut.rst.value:
                continue
            now = cycle()
            self.take(now)
            for kind, waiting in (("r", self.open_reads), ("b", self.open_writes)):
                if self.answer[kind] is not None:
                    assert self.value(f"{kind}ready"), f"{kind} is never held up"
                    self.answer[kind] = None
                self.offer(kind, waiting, now)
            for name in self.ready:
                self.ready[name] = name not in self.closed and not self.stall()
                self.drive(**{f"{name}ready": self.ready[name]})

    def take(self, now):
        control = ("addr", "len", "size", "burst")
        for channel in ("ar", "aw"):
            beat = self.taken(channel, *control)
            if beat is None:
                continue
            address, length, size, burst = beat
            assert (length, 1 << size, burst) == (0, LINE_BYTES, Burst.INCR.value)
            assert address % LINE_BYTES == 0
            if channel == "ar":
                writing = [address for _, address, _ in self.open_writes]
                writing += self.addresses
                assert address not in writing, "a fill overtakes a write-back"
                self.reads.append((now, address))
                self.open_reads.append((now + self.latency(), address))
            else:
                self.addresses.append(address)
        beat = self.taken("w", "data", "strb", "last")
        if beat is not None:
            assert beat[1:] == [(1 << LINE_BYTES) - 1, 1]
            self.beats.append(beat[0])
        while self.addresses and self.beats:
            due = now + self.latency()
            self.open_writes.append((due, self.addresses.popleft(), self.beats.popleft()))

    def offer(self, kind, waiting, now):
        """Drive the next R or B beat."""
        due = bool(waiting) and waiting[0][0] <= now + 1
        if not due or self.frozen or (self.stall is not never and self.stall()):
            self.drive(**{f"{kind}valid": 0})
            return
        one = waiting.pop(0)
        _, address, *beat = one
        bad = address in (self.bad_writes if beat else self.bad_reads)
        error = random.choice((Response.EXOKAY, Response.SLVERR, Response.DECERR))
        response = (error if bad else Response.OKAY).value
        if beat:
            if not bad:
                self.contents[address] = beat[0]
            self.writes.append((now, address))
            self.drive(bvalid=1, bresp=response)
        else:
            line = random.getrandbits(512) if bad else self.contents.get(address, 0)
            self.read_answers.append((now + 1, address))
            self.drive(rvalid=1, rresp=response, rdata=line)
        self.answer[kind] = one

    @property
    def idle(self):
        return not (self.open_reads or self.open_writes or self.addresses or self.beats)


@dataclass
class Done:
    """A request and its answer, with the cycles in which they were taken and came."""

    set: bool
    idx: int
    accepted: int
    answered: int = 0
    bit: int = 0
    failed: int = 0


class Unit:
    """Sends requests through port ``k`` as slots allow; ``done`` grows in the answers' order."""

    def __init__(self, dut, k, params: FilterCacheParams, *, stall=never, judge=None):
        self.dut, self.k, self.params, self.stall, self.judge = dut, k, params, stall, judge
        self.queue: deque[tuple[bool, int]] = deque()
        self.done: list[Done] = []
        self.asked: list[Done] = []  #: in the order of the requests
        self.busy: dict[int, Done] = {}
        names = {"requests": ("valid", "ready", "payload"), "answers": ("valid", "payload")}
        self.port = {
            f"{port}_{name}": getattr(dut, f"{port}_{k}_{name}")
            for port, fields in names.items()
            for name in fields
        }
        self.port["requests_valid"].value = 0
        self.offered = None
        cocotb.start_soon(self.run())

    async def run(self):
        port, edge = self.port, RisingEdge(self.dut.clk)
        while True:
            await edge
            if self.dut.rst.value:
                continue
            now = cycle()
            if self.offered and port["requests_ready"].value:
                done = self.offered[1]
                done.accepted, self.offered = now, None
                self.asked.append(done)
                if self.judge:
                    self.judge.accepted(done)
            if port["answers_valid"].value:
                self.take(unpack(self.params.answer, int(port["answers_payload"].value)), now)
            if not self.offered:
                self.offer()

    def take(self, answer, now):
        done = self.busy.pop(answer["slot"])
        assert done.accepted, "an answer ahead of its request"
        done.answered, done.bit, done.failed = now, answer["bit"], answer["failed"]
        self.done.append(done)
        if self.judge:
            self.judge.answered(done)

    def offer(self):
        port = self.port
        if not self.queue or len(self.busy) == self.params.slots or self.stall():
            port["requests_valid"].value = 0
            port["requests_payload"].value = random.getrandbits(self.params.request.size)
            return
        is_set, idx = self.queue.popleft()
        free = [slot for slot in range(self.params.slots) if slot not in self.busy]
        slot = random.choice(free)
        done = self.busy[slot] = Done(is_set, idx, 0)
        self.offered = slot, done
        port["requests_valid"].value = 1
        port["requests_payload"].value = pack(
            self.params.request, {"set": is_set, "idx": idx, "slot": slot}
        )

    @property
    def idle(self):
        return not (self.queue or self.busy)


class Judge:
    """Sees requests of all units as one history: a bit rises once, in the sight of all."""

    def __init__(self):
        self.known: dict[int, int] = {}  #: the cycle since which a bit is known to be 1
        self.sets: set[int] = set()  #: idxs that somebody has wanted to set
        self.ones = self.zeros = 0

    def accepted(self, done):
        if done.set:
            self.sets.add(done.idx)

    def answered(self, done):
        assert not done.failed
        if not done.set:
            if done.bit:
                self.ones += 1
                assert done.idx in self.sets, f"{done} has been set by nobody"
            else:
                self.zeros += 1
                known = self.known.get(done.idx)
                assert known is None or done.accepted < known, f"{done}, but 1 since {known}"
        if done.set or done.bit:
            self.known.setdefault(done.idx, done.answered)


class Events:
    """Sums up the cache's events."""

    def __init__(self, dut, params):
        self.dut, self.params, self.counts = dut, params, Counter()
        cocotb.start_soon(self.run())

    async def run(self):
        edge = RisingEdge(self.dut.clk)
        while True:
            await edge
            if not self.dut.rst.value and (bits := int(self.dut.events.value)):
                self.counts.update(unpack(self.params.events, bits))
