"""Tests words of what is missing, with two readers and two writers, and each slot's count."""

import random
from dataclasses import replace

import cocotb

from hdl.switchgnn.endpoint.bundles import SLOTS
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.required_table import RequiredTable
from sim.harness.bench import Bench
from sim.harness.payloads import pack, payload_shape
from sim.harness.streams import start
from sim.harness.verilator import component_in_simulator
from tests.hdl.stateful import follow
from tests.simulated import simulated

SIZES = {"tiny": PRESETS["tiny"], "more": replace(PRESETS["tiny"], depth=128, copies=256)}
COUNTS = [f"missing_{k}" for k in range(SLOTS)]

test_required_table = simulated(RequiredTable, SIZES, __name__, registers=COUNTS)


class Table:
    """Is a dictionary of words, of which those that nobody wrote may be anything, and counts."""

    def __init__(self, component):
        self.params = component.params
        self.load = payload_shape(component, "loads")
        self.words, self.word = {}, None

    def preset(self):
        """Set counts of one bit, or few, all that there are or any number."""
        most = self.params.aggregators + self.params.copies
        item = 1 << random.randrange(self.params.missing_bits)
        some = (item, item, random.randrange(4), most, random.randrange(most))
        self.missing = [min(random.choice(some), most) for _ in COUNTS]
        self.reads, self.writes = random.choice((0.1, 0.5, 0.9)), random.choice((0.1, 0.5, 0.9))
        self.place = random.getrandbits(self.params.table_bits)
        return dict(zip(COUNTS, self.missing, strict=True))

    def near(self):
        """Draw the place of this run, or one that differs from it in a bit, or any."""
        bits = self.params.table_bits
        other = self.place ^ 1 << random.randrange(bits)
        return random.choice((self.place, self.place, other, random.getrandbits(bits)))

    def draw(self):
        cleared = self.near()
        missing = self.missing[cleared >> self.params.word_bits]
        load = {"place": self.near(), "word": random.getrandbits(32)}
        return {
            "look": int(random.random() < self.reads),
            "place": self.near(),
            "scan_valid": int(random.random() < self.reads),
            "scan_payload": self.near(),
            "clear": int(missing > 0 and random.random() < self.writes),
            "cleared_place": cleared,
            "cleared": random.getrandbits(32),
            "loads_valid": int(random.random() < self.writes),
            "loads_payload": pack(self.load, load),
            "set": int(random.random() < 0.05),
            "set_slot": random.randrange(SLOTS),
            "set_missing": random.choice((1, 2, random.getrandbits(self.params.missing_bits))),
        }

    def outputs(self, inputs):
        shown = {"scan_ready": 1 - inputs["look"], "loads_ready": 1 - inputs["clear"]}
        shown["empty"] = sum((not count) << k for k, count in enumerate(self.missing))
        return shown if self.word is None else shown | {"word": self.word}

    def step(self, inputs):
        place = inputs["cleared_place"]
        if inputs["clear"]:
            self.words[place] = inputs["cleared"]
            self.missing[place >> self.params.word_bits] -= 1
        elif inputs["loads_valid"]:
            place = inputs["loads_payload"] % (1 << self.params.table_bits)
            self.words[place] = inputs["loads_payload"] >> self.params.table_bits
        if inputs["set"]:
            self.missing[inputs["set_slot"]] = inputs["set_missing"]
        if inputs["look"] or inputs["scan_valid"]:
            read = inputs["place"] if inputs["look"] else inputs["scan_payload"]
            self.word = self.words.get(read)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def follows_its_model(dut):
    """A read sees a write of its own cycle, and so until the next one; each slot is counted."""
    Bench(dut)
    await start(dut)
    await follow(dut, Table(component_in_simulator()), runs=200)
