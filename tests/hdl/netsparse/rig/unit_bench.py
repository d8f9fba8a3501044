"""Models host memory, network and idx filter around a RIG unit, with one matrix in common."""

import random

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, First

from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.rig.params import Cause
from hdl.netsparse.snic import SETTLING
from sim.harness.bench import Bench
from sim.harness.pulses import Pulses
from sim.harness.streams import never
from tests.hdl.netsparse.rig.bench import AnswerSink, FilterModel, Reader, conserved, dense_beats

UNIT, NODE = 7, 1
COLUMNS = 600
BOUNDARIES = (0, 150, 350)  #: of three nodes
LOCAL = range(BOUNDARIES[NODE], BOUNDARIES[NODE + 1])
PROPERTIES = 0x10000  #: idx 0 has its slot behind this in host memory; arrays of idxs lie below
PARTS = 8  #: of where arrays of idxs lie
WATCHED = ("quiet", "busy", "prs_valid", "reads_valid")


def quickly(*_):
    """Return an access that takes a few cycles."""
    return random.randint(1, 6)


def slowly(*_):
    """Return an access that now and then takes very long."""
    return random.choice((2, 20, 60, 150))


def owner(idx):
    return sum(idx >= boundary for boundary in BOUNDARIES) - 1


def remote(idxs):
    return [idx for idx in idxs if idx not in LOCAL]


class WholeMemory:
    """Has all addresses of host memory, few of which are written; equal if the same were."""

    def __init__(self, address_bits):
        self.size, self.written = 1 << address_bits, {}

    def __getitem__(self, part):
        places = (at % self.size for at in range(part.start, part.stop))
        return bytes(self.written.get(at, at * 0x9E3779B1 >> 16 & 0xFF) for at in places)

    def __setitem__(self, part, block):
        assert part.stop - part.start == len(block)
        for k, byte in enumerate(block):
            self.written[(part.start + k) % self.size] = byte

    def __eq__(self, other):
        return self.written == other.written


class UnitBench(Bench):
    """Runs a unit in client mode among its models, whose habits can be changed meanwhile.

    With ``whole`` the matrix has as many columns as idxs can name, and its memory every address.
    """

    def __init__(
        self, dut, *, source=never, sink=never, filter_latency=quickly, trip=quickly, whole=False
    ):
        served = random.getrandbits(len(dut.served))  # of no meaning for a client
        super().__init__(dut, (source, sink), coalesce=1, filter=1, served=served)
        self.trip = trip
        self.columns = 1 << self.params.idx_bits if whole else COLUMNS
        self.write_fails = lambda address: False
        self.respond = lambda pr: [
            {}
        ]  #: what comes of a PR: responses, as changes to the right one
        self.write_latency = quickly
        self.name(NODE, UNIT)
        self.property_bytes, self.tag, self.part = 4, 0, 0
        self.owned = {}  #: idx -> its property, at its owner
        self.properties = PROPERTIES + 4 * random.randrange(1024)  #: where idx 0 has its slot
        if whole:
            self.memory, self.expected = (WholeMemory(self.params.address_bits) for _ in range(2))
        else:
            self.memory = bytearray(random.randbytes(self.properties + COLUMNS * 192))
            self.expected = bytearray(self.memory)
        self.write_beats, self.outcomes = [], 0
        self.commands.stall = never
        self.reader = Reader(dut, self.memory, stall=source)
        self.demands.add_callback(self.reader.answer)
        self.writes.add_callback(self.write)
        self.done = Pulses(dut, "done", "write_failed")
        self.prs.add_callback(self.pass_on)
        self.answers = AnswerSink(dut, "answers", stall=sink)
        self.filter = FilterModel(dut, self.params, filter_latency, stall=sink)
        self.filter.on_set = self.check_set
        self.totals = self.tally()
        self.shown = self.record("", *WATCHED)

    def name(self, node, unit):
        """Return what PRs call the unit."""
        self.node, self.unit = node, unit
        columns = {"first": LOCAL.start, "end": LOCAL.stop, "columns": self.columns}
        self.set(partition={"node": node} | columns, unit=unit)

    async def begin(self):
        """Come out of reset, with the boundaries in their table."""
        await super().begin()
        others = [random.getrandbits(self.params.idx_bits) for _ in BOUNDARIES]
        for boundaries in (others, BOUNDARIES):  # the last ones count
            entries = ({"valid": 1, "node": k, "boundary": at} for k, at in enumerate(boundaries))
            await self.play([{"boundary": entry} for entry in entries])
        return self

    def check_calm(self):
        """Check that it was busy from a read on; no PR came when waiting reads could leave."""
        quiet, busy, prs, reads = (
            np.array([item[name] for item in list.__iter__(self.shown.beats)]) for name in WATCHED
        )
        assert not np.any(reads[:-1] & ~busy[1:] & 1), "a read waits"
        calm = np.convolve(quiet, np.ones(SETTLING, int))[: len(quiet)] == SETTLING
        assert not np.any(calm[:-1] & prs[1:]), "a PR comes, though it is quiet"

    def slot(self, idx):
        at = (self.properties + idx * self.property_bytes) % (1 << self.params.address_bits)
        return slice(at, at + self.property_bytes)

    def write(self, beat):
        """Write into memory; the outcome is told later, in order."""
        self.write_beats.append(beat)
        place = beat["address"], beat["bytes"]
        assert place == (self.write_beats[0]["address"], self.write_beats[0]["bytes"])
        assert beat["bytes"] == self.property_bytes
        if not beat["last"]:
            return
        address, size = place
        assert len(self.write_beats) == -(-size // BEAT_BYTES)
        block = b"".join(item["data"].to_bytes(BEAT_BYTES, "little") for item in self.write_beats)
        failed = self.write_fails(address)
        if not failed:
            self.memory[address : address + size] = block[:size]
        self.done.later({"write_failed": failed}, self.write_latency())
        self.outcomes += 1
        self.write_beats.clear()

    def check_set(self, idx):
        assert self.memory[self.slot(idx)] == self.owned[idx], "its property is not there yet"

    def pass_on(self, pr):
        """Pass a PR on to its owner and back."""
        idx = pr["pr"]["idx"]
        assert idx < self.columns
        assert idx not in LOCAL
        assert (pr["dest"], pr["length"]) == (owner(idx), self.property_bytes)
        assert (pr["pr"]["src"], pr["pr"]["tid"]) == (self.node, self.unit)
        block = self.owned.get(idx, b"late")
        for change in self.respond(pr):
            cocotb.start_soon(self.deliver(pr, block, change))

    async def deliver(self, pr, block, change):
        # The source takes another cycle to offer a beat.
        await ClockCycles(self.dut.clk, max(1, self.trip() - 1))
        size = change.get("length", self.property_bytes)
        response = {"dest": self.node, "length": size, "error": change.get("error", 0)}
        response["pr"] = pr["pr"] | {"src": pr["dest"]} | change.get("pr", {})
        beats = [0] if response["error"] else dense_beats(block.ljust(size, b"?")[:size])
        for k, data in enumerate(beats):
            self.responses.append(response | {"last": k + 1 == len(beats), "data": data})

    def submit(
        self, idxs, property_bytes=4, *, wide=0, watchdog=0, changes=(), tag=None, address=None
    ):
        """Give the unit a command; one size of properties at a time."""
        self.property_bytes = property_bytes
        self.tag = random.getrandbits(16) if tag is None else tag
        for idx in {*idxs} - {*self.owned}:
            self.owned[idx] = random.randbytes(property_bytes)
        size = 8 if wide else 4
        # In another part of memory than those of the commands before, which may be under way.
        self.part = (self.part + 1) % PARTS
        part = PROPERTIES // PARTS
        if address is None:
            address = self.part * part + size * random.randrange((part - len(idxs) * size) // size)
        self.idxs_end = address + len(idxs) * size
        for memory in (self.memory, self.expected):
            for k, idx in enumerate(idxs):
                memory[address + k * size : address + (k + 1) * size] = idx.to_bytes(size, "little")
        command = {
            "tag": self.tag,
            "idx_address": address,
            "count": len(idxs),
            "wide": wide,
            "property_address": self.properties,
            "property_bytes": property_bytes,
            "watchdog": watchdog,
            "cause": Cause.DONE,
        }
        self.commands.append(command | dict(changes))

    def forget(self):
        """Properties of another size may come: clear the filter, as the host does."""
        self.filter.bits.clear()
        self.owned.clear()

    async def completion(self):
        """Return how the command ended that was submitted last."""
        await self.completions.wait_for(len(self.completions.beats) + 1)
        completion = self.completions.beats[-1]
        assert completion["tag"] == self.tag
        assert conserved(self.totals), self.totals
        return completion["cause"]

    async def gather(self, idxs, property_bytes=4, **fields):
        """Run a command that succeeds; return its PRs, after a look at what it has written."""
        seen = len(self.prs.beats)
        self.submit(idxs, property_bytes, **fields)
        assert await self.completion() is Cause.DONE
        self.check_memory(idxs)
        return [pr["pr"]["idx"] for pr in self.prs.beats[seen:]]

    def check_memory(self, idxs):
        """Check that the properties of ``idxs`` have come, and no other byte has changed."""
        for idx in remote(idxs):
            self.expected[self.slot(idx)] = self.owned[idx]
        assert self.memory == self.expected

    async def rest(self):
        """Wait until the unit has nothing to do."""
        await self.wait(3)
        await self.until("busy", 0)

    async def end(self):
        """Check that nothing is left over anywhere."""
        await self.rest()
        await self.wait(20)
        assert not self.dut.busy.value
        assert not self.filter.under_way
        assert len(self.done.cycles) == self.outcomes
        assert not self.write_beats
        assert not self.dut.prs_valid.value
        assert not self.dut.writes_valid.value
        assert conserved(self.totals), self.totals
        self.check_calm()

    def accept_memory(self):
        """After a failure, check that each property came whole or not at all, and nothing else."""
        for idx in self.owned:
            if self.memory[self.slot(idx)] == self.owned[idx]:
                self.expected[self.slot(idx)] = self.owned[idx]
        assert self.memory == self.expected
        assert all(self.memory[self.slot(idx)] == self.owned[idx] for idx in self.filter.bits)

    async def fails(self, cause, *, cycles=20_000):
        """Check that the command ends with ``cause``, and the unit comes to rest."""
        done = cocotb.start_soon(self.completion())
        await First(done, ClockCycles(self.dut.clk, cycles))
        assert done.done(), "the unit hangs"
        assert done.result() is cause
        await self.rest()
        assert not self.filter.under_way
        assert len(self.done.cycles) == self.outcomes
        assert not self.write_beats
        self.accept_memory()
