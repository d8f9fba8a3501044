"""Moves three jobs on three switches in hardware: first all give back, then each tries."""

import random

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from sim.golden.tenancy import Command, Reason, Verb
from sim.harness.clock import PERIOD_NS, cycle
from sim.harness.verilator import params_in_simulator, simulate
from sim.mina.agreement import migration_rule as migrating
from sim.mina.agreement.frames import CONTROLLER, Place, Role
from sim.mina.agreement.hold_rule import Step
from tests.sim.mina.rtl.cluster import BAD
from tests.sim.mina.rtl.network import GOOD, RtlNetwork
from tests.sim.mina.rtl.switches import THREE, Switches, SwitchesParams

JOBS = range(3)
TICK = 200  #: cycles until what is not answered is asked again
GRANT = 600  #: cycles for which a job uses its tree
PAPER = {"release": 125, "acquire": 294, "together": 559}  #: milliseconds, section V-B


def test_migration(tmp_path):
    """Figures are printed: pytest -s."""
    simulate(Switches(THREE), __name__, folder=tmp_path)
    lines = (tmp_path / "log.txt").read_text().splitlines()
    print(*(line.partition(" test ")[2].strip() for line in lines if "cycles," in line), sep="\n")


class Movers:
    """Models the jobs' controllers: what they have, and the task that asks the switches for it.

    Each job has two slots of a switch, which others have as well unless they are ``apart``.
    """

    def __init__(self, network, trees, ageing=0, apart=False):
        self.network, self.state = network, migrating.at_start(trees, ageing)
        self.apart = apart
        network.links.ends[CONTROLLER] = self.take

    def take(self, _, answer):
        """Take a switch's answer, and ask the next switch at once."""
        if answer.reason is Reason.NOT_REGISTERED:
            return [(Place(Role.SWITCH, answer.switch), self.entry(answer))]
        before = self.state.holds[answer.job]
        self.state = migrating.migration_rule(self.state, answer)
        after = self.state.holds[answer.job]
        return (
            self.requested(answer.job) if after != before and after.step is Step.ACQUIRING else ()
        )

    def entry(self, answer):
        """Return what a job is registered with."""
        return Command(
            verb=Verb.REGISTER,
            switch=answer.switch,
            job=answer.job,
            epoch=answer.epoch - 1,
            ports=3 << 2 * answer.job,
            base=2 * answer.job * self.apart,
            count=2,
        )

    def requested(self, *jobs):
        """Return what switches are asked for jobs."""
        return [
            (Place(Role.SWITCH, command.switch), command)
            for command in migrating.repeated(self.state)
            if command.job in jobs
        ]

    def send(self, *jobs):
        """Ask for jobs, now."""
        self.network.links.send(CONTROLLER, self.requested(*jobs))

    async def share(self, most):
        """Let every switch take this many jobs at a time."""
        for switch in self.network.switches.values():
            await switch.driver.share(most=most, ports_apart=False)

    def move(self, trees):
        """Let jobs give back what they have, to move."""
        self.state = migrating.moves(self.state, trees)
        self.send(*trees)

    def has(self, job):
        """Whether a job has its tree."""
        return self.state.holds[job].step is Step.HELD

    async def until(self, done):
        """Let jobs that may try do so, and repeat what is not answered, until something is so."""
        requested = cycle()
        for _ in range(200_000):
            if done():
                return cycle()
            for job in random.sample(JOBS, len(JOBS)):
                if migrating.may_try(self.state, job):
                    self.state = migrating.tries(self.state, job)
                    self.send(job)
            if cycle() - requested >= TICK:
                requested = cycle()
                self.send(*JOBS)
            await ClockCycles(self.network.dut.clk, 1)
        raise AssertionError(f"it does not come about: {self.state}")


async def begin(dut, trees, faults=GOOD, **options):
    rng = np.random.default_rng(random.getrandbits(32))
    params = params_in_simulator(SwitchesParams)
    network = RtlNetwork(dut, params, rng, faults)
    await network.begin()
    return Movers(network, trees, **options)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def each_moves_to_the_switch_of_another(dut):
    """Nobody waits for a job that keeps its switch; cycles are printed by the paper's times."""
    movers = await begin(dut, [(job,) for job in JOBS])
    await movers.until(lambda: all(map(movers.has, JOBS)))
    cycles = []
    for turn in range(1, 5):
        first = cycle()
        movers.move({job: ((job + turn) % 3,) for job in JOBS})
        released = await movers.until(lambda: not movers.state.moving)
        acquired = await movers.until(lambda: all(map(movers.has, JOBS)))
        cycles.append((released - first, acquired - released, acquired - first))
    for (name, paper), own in zip(PAPER.items(), np.mean(cycles, axis=0), strict=True):
        us = own * PERIOD_NS / 1000
        cocotb.log.info("%s: %d cycles, %.2f us; the paper: %d ms", name, own, us, paper)
    assert max(cycles)[2] < 2000


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(faults=[GOOD, BAD])
async def with_ageing_everyones_turn_comes(dut, faults):
    """Any two jobs want a common switch: one has its tree, the others wait with nothing."""
    movers = await begin(dut, [(1, 2), (0, 2), (0, 1)], faults, ageing=1)
    served, since = dict.fromkeys(JOBS, 0), dict.fromkeys(JOBS, 0)
    for _ in range(15):
        await movers.until(lambda: any(map(movers.has, JOBS)))
        (job,) = filter(movers.has, JOBS)
        for switch in movers.state.trees[job]:
            held = await movers.network.switches[switch].driver.read("active_jobs")
            assert held == 1 << job
        await ClockCycles(dut.clk, GRANT)
        served[job] += 1
        since = {other: since[other] + 1 for other in JOBS} | {job: 0}
        assert max(since.values()) <= len(JOBS), "overtaken more often than it may be"
        movers.state = migrating.hands_back(movers.state, job)
        movers.send(job)
    cocotb.log.info("served: %s, faults: %s", served, movers.network.links.counts)
    assert min(served.values()) >= 15 // 4


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(faults=[GOOD, BAD])
async def two_jobs_have_a_switch_at_a_time(dut, faults):
    """All want all switches, which take two: the third waits, and its turn comes."""
    movers = await begin(dut, [tuple(JOBS)] * 3, faults, ageing=1, apart=True)
    await movers.share(most=2)
    served = dict.fromkeys(JOBS, 0)
    for _ in range(9):
        await movers.until(lambda: sum(map(movers.has, JOBS)) == 2)
        owners = sum(1 << job for job in filter(movers.has, JOBS))
        for switch in movers.network.switches.values():
            assert await switch.driver.read("active_jobs") == owners
        await ClockCycles(dut.clk, GRANT)
        job = min(filter(movers.has, JOBS), key=lambda job: (served[job], job))
        served[job] += 1
        movers.state = migrating.hands_back(movers.state, job)
        movers.send(job)
    cocotb.log.info("served: %s, faults: %s", served, movers.network.links.counts)
    assert min(served.values()) >= 2
