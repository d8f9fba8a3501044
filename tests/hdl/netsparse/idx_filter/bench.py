"""Surrounds the Idx Filter: a memory as awkward as AXI allows, units, and their judge."""

import random
from collections import deque
from dataclasses import dataclass

import cocotb

from hdl.common.axi import Burst, Response
from hdl.netsparse.idx_filter.params import LINE_BYTES, FilterCacheParams
from sim.harness.axi_streams import AxiStream
from sim.harness.records import Recorder
from sim.harness.streams import Sink, Source, Stream, always, cycle, edges, never

SMALL = FilterCacheParams(
    units=1, banks=1, cache_bytes=512, ways=2, unit_bytes=32, idx_bits=16, address_bits=16, slots=4
)


class Channel(AxiStream):
    """Is a channel of an AXI port, such as ``axi_ar``."""

    _separator, _signals = "", Stream._signals
    _payload = ("addr", "len", "size", "burst", "data", "strb", "last", "resp")


class ChannelSource(Channel, Source):
    """Drives a channel."""


class ChannelSink(Channel, Sink):
    """Watches a channel and takes its beats."""


class Dram:
    """A memory at the cache's AXI port; ``latency()`` is asked for each transaction.

    A write counts when it is acknowledged; reads and writes are each answered in order. It asserts
    AXI's rules and that no line is read while its write is under way.
    """

    def __init__(self, dut, *, stall=never, latency=lambda: 8):
        self.clk, self.latency, self.stall = dut.clk, latency, stall
        self.contents: dict[int, int] = {}  #: by line address; absent is zero
        self.bad_reads, self.bad_writes = set(), set()
        self.writing = []  #: addresses of writes that are not acknowledged
        self.addresses, self.lines = deque(), deque()  #: of which the other one has not come
        self.due = {"r": 0, "b": 0}  #: cycle of the last answer
        self.sources = {kind: ChannelSource(dut, f"axi_{kind}", stall=stall) for kind in self.due}
        self.offered = {kind: Recorder(dut, f"axi_{kind}valid", {}) for kind in self.due}
        taken = {"ar": self.read, "aw": self.write, "w": self.take_line}
        self.sinks = {
            name: ChannelSink(dut, f"axi_{name}", stall=stall, callback=callback)
            for name, callback in taken.items()
        }

    def address_of(self, beat):
        control = beat["len"], 1 << beat["size"], beat["burst"], beat["addr"] % LINE_BYTES
        assert control == (0, LINE_BYTES, Burst.INCR.value, 0)
        return beat["addr"]

    def read(self, beat):
        address = self.address_of(beat)
        assert address not in self.writing, "a fill overtakes a write-back"
        cocotb.start_soon(self.give_line(address))

    def write(self, beat):
        address = self.address_of(beat)
        self.writing.append(address)
        self.addresses.append(address)
        self.begin_writes()

    def take_line(self, beat):
        assert (beat["strb"], beat["last"]) == ((1 << LINE_BYTES) - 1, 1)
        self.lines.append(beat["data"])
        self.begin_writes()

    def begin_writes(self):
        while self.addresses and self.lines:
            cocotb.start_soon(self.acknowledge(self.addresses.popleft(), self.lines.popleft()))

    async def give_line(self, address):
        resp, good = await self.response("r", address, self.bad_reads)
        data = self.contents.get(address, 0) if good else random.getrandbits(512)
        self.sources["r"].append({"resp": resp, "data": data, "last": 1})

    async def acknowledge(self, address, line):
        resp, good = await self.response("b", address, self.bad_writes)

        def end(_):
            self.writing.remove(address)
            if good:
                self.contents[address] = line

        self.sources["b"].append({"resp": resp}, callback=end)

    async def response(self, kind, address, bad):
        """Wait until the answer is due; return its response, and whether that is good."""
        now = cycle()
        self.due[kind] = max(now + self.latency() - 1, self.due[kind] + 1)
        await edges(self.clk, self.due[kind] - now)
        error = random.choice((Response.EXOKAY, Response.SLVERR, Response.DECERR))
        return (error if address in bad else Response.OKAY).value, address not in bad

    def freeze(self, frozen=True):
        """Acknowledge and deliver nothing, or go on."""
        for source in self.sources.values():
            source.stall = always if frozen else self.stall

    @property
    def idle(self):
        for kind, source in self.sources.items():
            assert len(self.offered[kind].cycles) == len(source.cycles), f"{kind} is never held up"
        read = len(self.sources["r"].cycles) == len(self.sinks["ar"].cycles)
        return read and not (self.writing or self.lines)


@dataclass
class Done:
    """A request and its answer, with the cycles in which they were taken and came."""

    set: bool
    idx: int
    accepted: int = 0
    answered: int = 0
    bit: int = 0
    failed: int = 0


class Unit:
    """Sends requests through the port that ends with ``suffix``, as slots allow."""

    def __init__(self, dut, suffix, params: FilterCacheParams, *, stall=never):
        self.queue: deque[tuple[bool, int]] = deque()
        self.sent: list[Done] = []  #: handed to the port
        self.free, self.busy = list(range(params.slots)), {}
        self.few = max(1, params.slots // 4)  #: answers behind which more is handed to it
        self.taken = self.seen = 0  #: requests and answers that have been looked at
        shape, port = params.request, f"answers{suffix}_payload"
        self.requests = Source(dut, f"requests{suffix}", stall=stall, shape=shape)
        self.answers = Recorder(dut, f"answers{suffix}_valid", {port: params.answer})
        self.task = None

    def send(self, requests):
        self.queue.extend(requests)
        self.feed()
        if self.task is None or self.task.done():
            self.task = cocotb.start_soon(self.run())

    async def run(self):
        while self.busy:
            more = min(self.few, len(self.busy)) if self.queue else len(self.busy)
            await self.answers.wait_for(self.seen + more)
            self.look()
            self.feed()

    def feed(self):
        while self.queue and self.free:
            is_set, idx = self.queue.popleft()
            slot = self.free.pop(random.randrange(len(self.free)))
            self.sent.append(Done(is_set, idx))
            self.busy[slot] = self.sent[-1]
            self.requests.append({"set": is_set, "idx": idx, "slot": slot})

    def look(self):
        """Take note of what has moved."""
        for at in self.requests.cycles[self.taken :]:
            self.sent[self.taken].accepted = at
            self.taken += 1
        answers = self.answers
        for beat, at in zip(answers.beats[self.seen :], answers.cycles[self.seen :], strict=True):
            (answer,) = beat.values()
            done = self.busy.pop(answer["slot"])
            assert done.accepted, "an answer ahead of its request"
            done.answered, done.bit, done.failed = at, answer["bit"], answer["failed"]
            self.free.append(answer["slot"])
            self.seen += 1

    @property
    def requested(self):
        """Return the requests that have been taken, in their order."""
        self.look()
        return self.sent[: self.taken]

    @property
    def idle(self):
        self.look()
        return not (self.queue or self.busy)

    async def finish(self):
        if self.task is not None:
            await self.task


@dataclass
class Judge:
    """Sees requests of all units as one history: a bit rises once, in the sight of all."""

    requests: list[Done]
    ones: int = 0
    zeros: int = 0

    def __post_init__(self):
        self.sets, known = set(), {}  # the cycle since which a bit is known to be 1
        taken = [(item.accepted, False, k) for k, item in enumerate(self.requests)]
        answered = [(item.answered, True, k) for k, item in enumerate(self.requests)]
        for _, comes, k in sorted(taken + answered):
            item = self.requests[k]
            if not comes:
                self.sets |= {item.idx} if item.set else set()
                continue
            assert not item.failed
            if not item.set and item.bit:
                self.ones += 1
                assert item.idx in self.sets, f"{item} has been set by nobody"
            elif not item.set:
                self.zeros += 1
                since = known.get(item.idx)
                assert since is None or item.accepted < since, f"{item}, but 1 since {since}"
            if item.set or item.bit:
                known.setdefault(item.idx, item.answered)
