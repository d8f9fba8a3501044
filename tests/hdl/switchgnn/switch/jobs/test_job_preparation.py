"""Tests what a start waits for, in which order, however long each takes."""

import random

import cocotb

from hdl.switchgnn.switch.jobs.job_preparation import QUIET, UNDER_WAY, JobPreparation
from hdl.switchgnn.switch.tasks.task_params import TaskKind
from sim.harness.bench import Bench
from sim.harness.payloads import unpack
from sim.harness.streams import start
from sim.harness.verilator import simulate
from tests.hdl.switchgnn.switch.sizes import TINY

INPUTS = ("preparing", "busy", "fence_ready", "fenced", "leaving")


def test_job_preparation():
    simulate(JobPreparation(TINY), __name__)


class JobPreparationBench(Bench):
    async def cycle(self, **inputs):
        """Play a cycle with these inputs, all others low; return which outputs are high."""
        for name in INPUTS:
            getattr(self.dut, name).value = int(inputs.get(name, 0))
        await self.edge
        names = ("begin", "fence_valid", "prepared")
        return {name for name in names if getattr(self.dut, name).value}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_thing_in_its_turn(dut):
    bench = JobPreparationBench(dut)
    await start(dut)
    for _ in range(40):
        for _ in range(random.randrange(3)):  # nothing is prepared that nobody asked for
            noise = {name: random.getrandbits(1) for name in INPUTS[1:]}
            assert not await bench.cycle(**noise)
        for _ in range(random.choice((0, 3))):
            assert not await bench.cycle(preparing=1, busy=1, fenced=1)
        assert await bench.cycle(preparing=1) == {"begin"}
        for _ in range(UNDER_WAY):
            assert not await bench.cycle(preparing=1, busy=1, fence_ready=1, fenced=1)
        for _ in range(random.choice((0, 2, 5))):  # the fence waits for its gap
            assert await bench.cycle(preparing=1, fenced=1) == {"fence_valid"}
            assert unpack(bench.params.task, int(dut.fence_payload.value))["kind"] is TaskKind.FENCE
        assert await bench.cycle(preparing=1, fence_ready=1) == {"fence_valid"}
        for _ in range(random.choice((0, 50))):  # and for the tasks before it
            assert not await bench.cycle(preparing=1, fence_ready=1)
        assert not await bench.cycle(preparing=1, fenced=1)
        for _ in range(random.choice((0, 3))):  # sums leave, less and less often
            for _ in range(random.randrange(QUIET)):
                assert not await bench.cycle(preparing=1)
            assert not await bench.cycle(preparing=1, leaving=1)
        for _ in range(QUIET):
            assert not await bench.cycle(preparing=1)
        assert await bench.cycle(preparing=1, leaving=random.getrandbits(1)) == {"prepared"}
        assert not await bench.cycle()
