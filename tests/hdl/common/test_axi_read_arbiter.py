import random

import cocotb

from hdl.common.axi_read_arbiter import BURSTS, AxiReadArbiter, AxiReadArbiterParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, crossed, never
from tests.simulated import simulated

SIZES = [AxiReadArbiterParams(address_bits=16), AxiReadArbiterParams(masters=3, address_bits=18)]

test_axi_read_arbiter = simulated(AxiReadArbiter, SIZES, __name__)


class ArbiterBench(Bench):
    """Has a memory that answers each burst in the next cycle, with beats that are random."""

    def __init__(self, dut, stalls=(never, never)):
        super().__init__(dut, stalls)
        self.bursts = [getattr(self, f"i_{k}_ar") for k in range(self.params.masters)]
        self.beats = [getattr(self, f"i_{k}_r") for k in range(self.params.masters)]
        self.requested = [[] for _ in self.bursts]  # bursts that have not come to memory yet
        self.expected = [[] for _ in self.bursts]
        self.turns = []  # masters of the bursts that came
        self.answers = self.o_r
        self.o_ar.add_callback(self.answer)

    def request(self, k, count):
        """Let a master make ``count`` bursts; those of others differ from them in their ids."""
        for _ in range(count):
            burst = {"addr": random.getrandbits(self.params.address_bits) // 4 * 4 + k}
            burst |= {"len": random.choice([0, 1, 2, random.randrange(256)]), "id": 1}
            burst |= {"size": random.randrange(8), "burst": random.randrange(3)}
            self.requested[k].append(burst | {"id": 0})
            self.bursts[k].append(burst)

    def answer(self, burst):
        k = burst["addr"] % 4
        assert burst == self.requested[k].pop(0)
        beats = [
            {"data": random.getrandbits(self.params.data_bits), "resp": random.randrange(4)}
            | {"last": at == burst["len"], "id": 1}
            for at in range(burst["len"] + 1)
        ]
        self.turns.append(k)
        self.expected[k] += [beat | {"id": 0} for beat in beats]
        self.answers.extend(beats)

    async def finished(self):
        await self.settle(20)
        assert not any(self.requested)
        assert [sink.beats for sink in self.beats] == self.expected


@crossed(stalls=STALLS)
async def every_master_reads_what_it_requested(dut, stalls):
    bench = await ArbiterBench(dut, stalls).begin()
    for k in range(bench.params.masters):
        bench.request(k, 50)
    await bench.finished()
    if stalls.absent:
        for cycles in (bench.o_ar.cycles[:BURSTS], bench.answers.cycles):
            assert cycles == list(range(cycles[0], cycles[0] + len(cycles)))
        assert bench.turns == bench.turns[: bench.params.masters] * 50


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_burst_takes_its_latency(dut):
    bench = await ArbiterBench(dut).begin()
    for k in [0, 1] * 5:
        bench.request(k, 1)
        await bench.finished()
        assert bench.o_ar.cycles[-1] == bench.bursts[k].cycles[-1] + AxiReadArbiter.latency
        assert bench.beats[k].cycles[-1] == bench.answers.cycles[-1]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_memory_that_does_not_answer_gets_all_it_may(dut):
    bench = await ArbiterBench(dut).begin()
    for _ in range(2):
        bench.answers.stall, before = always, len(bench.turns)
        for k in range(bench.params.masters):
            bench.request(k, BURSTS)
        await bench.wait(3 * BURSTS)
        assert len(bench.turns) - before == BURSTS
        assert not dut.o_arvalid.value
        bench.answers.stall = never
        await bench.finished()
