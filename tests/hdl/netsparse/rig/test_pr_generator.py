import random
from dataclasses import replace

import cocotb
from cocotb.triggers import ClockCycles

from hdl.netsparse.protocol import MOST_PROPERTY_BYTES
from hdl.netsparse.rig.params import RigParams
from hdl.netsparse.rig.pr_generator import PrGenerator
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, Sink, Source, never, started
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.netsparse.rig.bench import TINY


def test_pr_generator():
    """Its idxs fill a PR's field."""
    simulate(PrGenerator(replace(TINY, idx_bits=64)), __name__)


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


class Bench:
    def __init__(self, dut, stall=never):
        self.dut, self.params = dut, params_in_simulator(RigParams)
        self.set(
            node=random.getrandbits(32),
            unit=random.getrandbits(16),
            generation=random.getrandbits(self.params.generation_bits),
            bytes=random.randint(1, MOST_PROPERTY_BYTES),
        )
        dut.reject.value = 0
        self.sink = Sink(dut, "prs", stall=stall)
        ports = {"issued": {"issued_entry": None}, "rejected": {}, "stall": {}}
        self.issued, self.rejected, self.stalls = (
            Recorder(dut, name, beside) for name, beside in ports.items()
        )

    def set(self, **settings):
        """Set what the coming PRs have in common."""
        self.settings = settings
        for name, value in settings.items():
            getattr(self.dut, name).value = value

    def expected(self, pending):
        settings = self.settings
        identity = settings["generation"] << self.params.entry_bits
        return [
            {
                "dest": one["node"],
                "length": settings["bytes"],
                "pr": {
                    "src": settings["node"],
                    "tid": settings["unit"],
                    "idx": one["idx"],
                    "id": identity | one["tag"],
                },
            }
            for one in pending
        ]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def makes_a_read_of_each(dut, stalls):
    bench = await started(Bench(dut, stalls.value[1]))
    source = Source(dut, "i", stall=stalls.value[0])
    pending = some_pending(bench.params, 200)
    await source.send_all(pending)
    await ClockCycles(dut.clk, 20)
    assert bench.sink.beats == bench.expected(pending)
    assert bench.issued.beats == [{"issued_entry": one["tag"]} for one in pending]
    assert not bench.rejected.beats
    if stalls.none:
        latency = PrGenerator(bench.params).latency
        assert bench.sink.cycles == [at + latency for at in source.cycles]
        assert source.cycles[-1] - source.cycles[0] == len(pending) - 1
        assert not bench.stalls.beats


@cocotb.test(timeout_time=100, timeout_unit="us")
async def no_field_is_cut_short(dut):
    """A PR has every bit of what it is made of."""
    bench = await started(Bench(dut))
    source = Source(dut, "i")
    generations = 1 << bench.params.generation_bits
    lowest = {"node": 0, "unit": 0, "generation": 0, "bytes": 4}
    highest = {
        "node": (1 << 32) - 1,
        "unit": (1 << 16) - 1,
        "generation": generations - 1,
        "bytes": MOST_PROPERTY_BYTES,
    }
    expected = []
    for settings in (lowest, highest):
        bench.set(**settings)
        pending = [
            {"idx": idx, "node": node, "tag": tag}
            for idx in (0, (1 << bench.params.idx_bits) - 1)
            for node in (0, bench.params.nodes - 1)
            for tag in range(bench.params.pending_entries)
        ]
        await source.send_all(pending)
        expected += bench.expected(pending)
        await ClockCycles(dut.clk, 5)
    assert bench.sink.beats == expected


@cocotb.test(timeout_time=100, timeout_unit="us")
async def rejects_what_comes_and_keeps_what_is_queued(dut):
    bench = await started(Bench(dut))
    bench.sink.stop()
    source = Source(dut, "i")
    pending = some_pending(bench.params, 12)
    done = cocotb.start_soon(source.send_all(pending))
    await ClockCycles(dut.clk, 20)
    room = bench.params.transmit_prs
    assert not done.done(), "the queue has no end"
    assert len(bench.issued.beats) == room
    assert len(bench.stalls.beats) > 10
    dut.reject.value = 1
    await ClockCycles(dut.clk, 20)
    assert done.done()
    assert len(bench.rejected.beats) == len(pending) - room
    assert len(bench.issued.beats) == room
    sink = Sink(dut, "prs")
    await ClockCycles(dut.clk, 20)
    await source.send_all(some_pending(bench.params, 5))  # rejected although there is room
    assert len(bench.rejected.beats) == len(pending) - room + 5
    assert len(bench.issued.beats) == room
    dut.reject.value = 0
    more = some_pending(bench.params, 5)
    await source.send_all(more)
    await ClockCycles(dut.clk, 20)
    assert sink.beats == bench.expected(pending[:room] + more)
    assert len(bench.issued.beats) == room + len(more)
    assert not dut.prs_valid.value
