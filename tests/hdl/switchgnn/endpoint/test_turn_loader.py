"""Loads a turn's tables through the reader that all tables share, from any place in memory."""

import random
from dataclasses import replace

import cocotb
import numpy as np
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.endpoint.bundles import SLOTS, TABLE_CLIENTS
from hdl.switchgnn.endpoint.memory_layouts import ALIGNMENT, TurnRecord
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.table_reader import TableReader
from hdl.switchgnn.endpoint.turn_loader import STORED, TurnLoader
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.streams import crossed, cycle, never, often, rarely
from tests.hdl.switchgnn.endpoint.answers import answer
from tests.simulated import simulated

SIZES = {
    "tiny": PRESETS["tiny"],
    "several beats": replace(PRESETS["tiny"], depth=1024, copies=1024),
    "no whole beat": replace(PRESETS["tiny"], depth=128, copies=64, address_bits=34),
}
PROGRAM = 1000  #: beat at which the program begins
INPUTS = ("load", "turn", "program")
OUTPUTS = ("write", "slot", "context", "loaded", "missing", "illegal")


class LoaderBench(Component):
    """Wraps the loader as the reader's first client; another one asks beside it."""

    def __init__(self, params):
        loader, reader = TurnLoader(params).signature.members, TableReader(params).signature.members
        super().__init__(
            params,
            {name: loader[name] for name in (*INPUTS, *OUTPUTS, "words")}
            | {
                "bursts": reader["bursts"],
                "provided": reader["provided"],
                "other": In(stream.Signature(params.beat_address_bits)),
                "other_came": Out(data.StructLayout({"valid": 1, "data": 8 * BEAT_BYTES})),
            },
        )

    def build(self, m):
        m.submodules.loader = loader = TurnLoader(self.params)
        m.submodules.reader = reader = TableReader(self.params)
        connect(m, loader.request, reader.requests[0])
        connect(m, flipped(self.other), reader.requests[2])
        connect(m, reader.bursts, flipped(self.bursts))
        connect(m, loader.words, flipped(self.words))
        m.d.comb += [
            reader.provided.eq(self.provided),
            loader.beat.eq(reader.beats[0]),
            self.other_came.valid.eq(reader.beats[2].valid),
            self.other_came.data.eq(reader.beats[2].data),
        ]
        m.d.comb += [getattr(loader, name).eq(getattr(self, name)) for name in INPUTS]
        m.d.comb += [getattr(self, name).eq(getattr(loader, name)) for name in OUTPUTS]


test_turn_loader = simulated(LoaderBench, SIZES, __name__)


def ones(words):
    return sum(word.bit_count() for word in words)


class TurnLoaderBench(Bench):
    """Plays a memory of beats, and keeps what is loaded from it."""

    def __init__(self, dut, *, stall=never, latency=5):
        super().__init__(dut, (rarely, stall), program=PROGRAM)
        self.latency, self.memory, self.failing = latency, {}, None
        self.contexts = self.record("write", "slot", "context")
        self.loaded = self.record("loaded", "slot", "missing")
        self.others = self.reports("other_came")
        answer(self, self.bursts, "provided", self.read, latency=latency)

    def read(self, burst):
        at, below = divmod(burst["address"], BEAT_BYTES)
        assert below == 0
        assert burst["tag"] < TABLE_CLIENTS
        data = self.memory.get(at, at)
        return [{"tag": burst["tag"], "data": data, "failed": at == self.failing}]

    def lay_out(self, turn, *, whole=False):
        """Write a turn of random tables; return its context and words, ``whole`` ones or not."""
        params = self.params
        record = {
            name: ALIGNMENT * random.randrange(1, 1 << params.base_bits)
            for name in (*STORED, "required")
        } | {"sends": random.getrandbits(32)}
        while abs(record["required"] // BEAT_BYTES - PROGRAM) < 64:  # not where the program lies
            record["required"] = ALIGNMENT * random.randrange(1, 1 << params.base_bits)
        self.memory[PROGRAM + turn] = pack(TurnRecord, record)
        kinds = 1 if whole else 3  # all ones; any; none
        words = [
            random.choice([(1 << 32) - 1, random.getrandbits(32), 0][:kinds])
            for _ in range(params.words)
        ]
        for k in range(0, len(words), 16):
            beat = sum(word << 32 * j for j, word in enumerate(words[k : k + 16]))
            behind = random.getrandbits(512) << 32 * len(words[k : k + 16])
            place = (record["required"] // BEAT_BYTES + k // 16) % (1 << params.beat_address_bits)
            self.memory[place] = (beat | behind) & (1 << 512) - 1
        stored = {name: record[name] // ALIGNMENT for name in STORED} | {"sends": record["sends"]}
        return stored, words

    async def load(self, turn):
        """Load a turn until it is loaded or cannot be; return when that began."""
        before = len(self.loaded.beats)
        self.set(turn=turn, load=1)
        await self.edge
        began = cycle()
        while len(self.loaded.beats) == before and not self.dut.illegal.value:
            await self.edge
        self.set(load=0)
        await self.edge
        return began

    async def reset(self):
        self.set(load=0)
        self.dut.rst.value = 1
        await self.edge
        self.dut.rst.value = 0
        await self.edge


@crossed(stall=[never, rarely, often], latency=[1, 90])
async def loads_what_is_in_memory(dut, stall, latency):
    bench = await TurnLoaderBench(dut, stall=stall, latency=latency).begin()
    params, expected = bench.params, []
    others = [random.randrange(PROGRAM) for _ in range(20)]
    sends = cocotb.start_soon(bench.other.send_all(others))
    for turn in (0, 1, 2, 3, 4, 7, 11):
        context, words = bench.lay_out(turn, whole=turn == 3)
        await bench.load(turn)
        slot = turn % SLOTS
        assert bench.contexts.beats[-1] == {"slot": slot, "context": context}
        expected += [
            {"place": k | slot << params.word_bits, "word": word} for k, word in enumerate(words)
        ]
        assert bench.words.beats == expected
        assert bench.loaded.beats[-1] == {"slot": slot, "missing": ones(words)}
    await sends
    await bench.wait(latency + 20)
    assert [beat["data"] for beat, _ in bench.others.result] == others
    assert len(bench.loaded.beats) == 7


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_a_cycle_a_word(dut):
    """Words take a cycle each after two reads; the bitmap's beats come back to back."""
    bench = await TurnLoaderBench(dut, latency=50).begin()
    bench.lay_out(5)
    began = await bench.load(5)
    cycles = bench.loaded.cycles[0] - began
    assert bench.params.words + 100 < cycles < bench.params.words + 125
    assert all(np.diff(bench.words.cycles) == 1)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_leaves_nothing(dut):
    """A reset of a cycle in the middle of a load: what memory still brings belongs to no one."""
    bench = await TurnLoaderBench(dut).begin()
    for cycles in range(1, 40, 2):
        bench.lay_out(0, whole=True)
        bench.set(turn=0, load=1)
        await bench.wait(10 + cycles)
        await bench.reset()
        await bench.wait(20)
        _, words = bench.lay_out(1)
        await bench.load(1)
        assert bench.loaded.beats[-1] == {"slot": 1, "missing": ones(words)}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_address_that_is_none(dut):
    """Any bit below the alignment or beyond memory makes it none, in any of the addresses."""
    bench = await TurnLoaderBench(dut, latency=1).begin()
    ends = [*range(9), *range(bench.params.address_bits, 64)]
    for name in (*STORED, "required"):
        for bit in ends:
            bench.lay_out(0)
            bench.memory[PROGRAM] |= 1 << TurnRecord.as_shape()[name].offset + bit
            await bench.load(0)
            assert dut.illegal.value
            await bench.reset()
    assert not bench.contexts.beats
    assert not bench.loaded.beats


@crossed(where=["program", "required"])
async def a_read_that_fails(dut, where):
    """If the record's fails, nothing is loaded; if a bitmap's does, the job ends elsewhere."""
    bench = await TurnLoaderBench(dut).begin()
    bench.lay_out(0)
    record = bench.memory[PROGRAM]
    offset = TurnRecord.as_shape()["required"].offset
    expected = (record >> offset & (1 << 64) - 1) // BEAT_BYTES
    bench.failing = PROGRAM if where == "program" else expected
    await bench.load(0)
    assert bool(dut.illegal.value) == (where == "program")
    assert bool(bench.loaded.beats) == (where == "required")
