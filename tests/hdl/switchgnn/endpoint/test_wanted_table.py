"""Tests words of what is missing, with two readers and two writers, and each slot's count."""

import random
from dataclasses import replace

import cocotb
import pytest

from hdl.switchgnn.endpoint.bundles import SLOTS
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.wanted_table import WantedTable
from sim.harness.bench import Bench
from sim.harness.payloads import pack, payload_shape
from sim.harness.streams import start
from sim.harness.verilator import component_in_simulator, simulate

SIZES = {"tiny": PRESETS["tiny"], "more": replace(PRESETS["tiny"], depth=128, copies=256)}


@pytest.mark.parametrize("size", SIZES)
def test_wanted_table(size):
    counts = [f"missing_{k}" for k in range(SLOTS)]
    simulate(WantedTable(SIZES[size]), __name__, registers=counts)


class WantedTableBench(Bench):
    """Models the table by a dictionary; drives each cycle and knows what follows."""

    def __init__(self, dut):
        super().__init__(dut)
        self.places = 1 << self.params.table_bits
        self.load = payload_shape(component_in_simulator(), "loads")
        self.words, self.missing, self.word = {}, [0] * SLOTS, None

    async def begin(self):
        """Check that all words are zero and nothing is missing."""
        await start(self.dut)
        for slot in range(SLOTS):
            await self.step(set=1, set_slot=slot, set_missing=0)
        for place in range(self.places):
            await self.step(load=(place, 0))

    async def step(self, *, look=None, scan=None, clear=None, load=None, **values):
        """Play a cycle, in which words are read and written."""
        dut = self.dut
        dut.look.value, dut.scan_valid.value = look is not None, scan is not None
        dut.clear.value, dut.loads_valid.value = clear is not None, load is not None
        dut.place.value = random.randrange(self.places) if look is None else look
        dut.scan_payload.value = random.randrange(self.places) if scan is None else scan
        place, word = clear or (random.randrange(self.places), random.getrandbits(32))
        dut.cleared_place.value, dut.cleared.value = place, word
        loaded = load or (random.randrange(self.places), random.getrandbits(32))
        dut.loads_payload.value = pack(self.load, dict(zip(("place", "word"), loaded, strict=True)))
        dut.set.value = values.get("set", 0)
        slot = values.get("set_slot", random.randrange(SLOTS))
        many = values.get("set_missing", random.getrandbits(self.params.missing_bits))
        dut.set_slot.value, dut.set_missing.value = slot, many
        await self.edge
        assert dut.scan_ready.value == (look is None)
        assert dut.loads_ready.value == (clear is None)
        if self.word is not None:
            assert int(dut.word.value) == self.word
        if self.words:
            assert int(dut.none.value) == sum((not n) << k for k, n in enumerate(self.missing))
        if clear is not None:
            self.words[place] = word
            self.missing[place >> self.params.word_bits] -= 1
        elif load is not None:
            self.words[load[0]] = load[1]
        if values.get("set"):
            self.missing[slot] = many
        read = scan if look is None else look
        if read is not None:
            self.word = self.words.get(read)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def reads_what_was_written(dut):
    """A read sees a write of its own cycle, and so until the next one."""
    bench = WantedTableBench(dut)
    await bench.begin()
    for slot in range(SLOTS):
        most = bench.params.aggregators + bench.params.copies
        await bench.step(set=1, set_slot=slot, set_missing=most)
    for _ in range(2000):
        place = random.randrange(bench.places)
        near = [place, place ^ 1 << random.randrange(bench.params.table_bits)]
        word = random.getrandbits(32)
        clears = random.random() < 0.3
        clears &= bench.missing[place >> bench.params.word_bits] > 0
        await bench.step(
            look=random.choice([None, None, *near]),
            scan=random.choice([None, *near]),
            clear=(place, word) if clears else None,
            load=random.choice([None, (random.choice(near), random.getrandbits(32))]),
        )


@cocotb.test(timeout_time=200, timeout_unit="us")
async def every_slot_is_counted(dut):
    """Counts go from any number of what is missing to none, one slot beside the others."""
    bench = WantedTableBench(dut)
    await bench.begin()
    numbers = [1 << bit for bit in range(bench.params.missing_bits)]
    for number in [*numbers, bench.params.aggregators + bench.params.copies]:
        for slot in random.sample(range(SLOTS), SLOTS):
            await bench.step(set=1, set_slot=slot, set_missing=number)
        left = min(number, 5)
        for slot in range(SLOTS):
            await bench.step(set=1, set_slot=slot, set_missing=number)
        for slot in random.sample([*range(SLOTS)] * left, SLOTS * left):
            await bench.step(clear=(slot << bench.params.word_bits, 0))
        for slot in range(SLOTS):
            few = bench.missing[slot] & 3
            for _ in range(2):
                await bench.step()
            getattr(dut, f"missing_{slot}").value = few
            bench.missing[slot] = few
            for _ in range(few):
                await bench.step(clear=(slot << bench.params.word_bits, 0))
        await bench.step()
        assert bench.missing == [0] * SLOTS
