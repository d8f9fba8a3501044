import random
from dataclasses import replace

import cocotb
from cocotb.triggers import ClockCycles

from hdl.netsparse.protocol import MAX_PROPERTY_BYTES
from hdl.netsparse.rig.pr_generator import PrGenerator
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Sink, benched, crossed
from tests.hdl.netsparse.rig.bench import TINY
from tests.simulated import simulated

WIDE = replace(TINY, idx_bits=64)  #: idxs fill a PR's field
test_pr_generator = simulated(PrGenerator, [WIDE], __name__)


def some_pending(params, count):
    extremes = [0, (1 << params.idx_bits) - 1]
    return [
        {
            "idx": random.choice((*extremes, random.getrandbits(params.idx_bits))),
            "node": random.randrange(params.nodes),
            "tag": random.randrange(params.pending_entries),
        }
        for _ in range(count)
    ]


class GeneratorBench(Bench):
    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls)
        self.name(
            node=random.getrandbits(32),
            unit=random.getrandbits(16),
            generation=random.getrandbits(self.params.generation_bits),
            bytes=random.randint(1, MAX_PROPERTY_BYTES),
        )
        self.issued = self.record("issued", "issued_entry")
        self.rejected, self.stalls = self.record("rejected"), self.record("stall")

    def name(self, **settings):
        """Set what the coming PRs have in common."""
        self.settings = settings
        self.set(**settings)

    def expected(self, pending):
        settings = self.settings
        identity = settings["generation"] << self.params.entry_bits
        return [
            {
                "dest": item["node"],
                "length": settings["bytes"],
                "pr": {
                    "src": settings["node"],
                    "tid": settings["unit"],
                    "idx": item["idx"],
                    "id": identity | item["tag"],
                },
            }
            for item in pending
        ]


@crossed(stalls=STALLS, us=100)
async def makes_a_read_of_each(dut, stalls):
    bench = await GeneratorBench(dut, stalls).begin()
    pending = some_pending(bench.params, 200)
    await bench.i.send_all(pending)
    await ClockCycles(dut.clk, 20)
    assert bench.prs.beats == bench.expected(pending)
    assert bench.issued.beats == [{"issued_entry": item["tag"]} for item in pending]
    assert not bench.rejected.beats
    if stalls.absent:
        assert bench.prs.cycles == [at + bench.component.latency for at in bench.i.cycles]
        assert bench.i.cycles[-1] - bench.i.cycles[0] == len(pending) - 1
        assert not bench.stalls.beats


@benched(GeneratorBench, us=100)
async def no_field_is_cut_short(bench):
    """A PR has every bit of what it is made of."""
    generations = 1 << bench.params.generation_bits
    lowest = {"node": 0, "unit": 0, "generation": 0, "bytes": 4}
    highest = {
        "node": (1 << 32) - 1,
        "unit": (1 << 16) - 1,
        "generation": generations - 1,
        "bytes": MAX_PROPERTY_BYTES,
    }
    expected = []
    for settings in (lowest, highest):
        bench.name(**settings)
        pending = [
            {"idx": idx, "node": node, "tag": tag}
            for idx in (0, (1 << bench.params.idx_bits) - 1)
            for node in (0, bench.params.nodes - 1)
            for tag in range(bench.params.pending_entries)
        ]
        await bench.i.send_all(pending)
        expected += bench.expected(pending)
        await bench.wait(5)
    assert bench.prs.beats == expected


@benched(GeneratorBench, us=100)
async def rejects_what_comes_and_keeps_what_is_queued(bench):
    bench.prs.stop()
    pending = some_pending(bench.params, 12)
    done = cocotb.start_soon(bench.i.send_all(pending))
    await bench.wait(20)
    room = bench.params.transmit_prs
    assert not done.done(), "the queue has no end"
    assert len(bench.issued.beats) == room
    assert len(bench.stalls.beats) > 10
    bench.dut.reject.value = 1
    await bench.wait(20)
    assert done.done()
    assert len(bench.rejected.beats) == len(pending) - room
    assert len(bench.issued.beats) == room
    sink = Sink(bench.dut, "prs")
    await bench.wait(20)
    await bench.i.send_all(some_pending(bench.params, 5))  # rejected although there is room
    assert len(bench.rejected.beats) == len(pending) - room + 5
    assert len(bench.issued.beats) == room
    bench.dut.reject.value = 0
    more = some_pending(bench.params, 5)
    await bench.i.send_all(more)
    await bench.wait(20)
    assert sink.beats == bench.expected(pending[:room] + more)
    assert len(bench.issued.beats) == room + len(more)
    assert not bench.dut.prs_valid.value
