"""Jobs whose operations with INA are frames through a switch in hardware; all else is timed."""

from dataclasses import replace

import cocotb
import numpy as np
from cocotb.queue import Queue
from cocotb.triggers import ClockCycles, Event

from sim.golden.tenancy import Command, Verb
from sim.harness.clock import PERIOD_NS, cycle
from sim.mina.agreement import operation_rule as operations
from sim.mina.agreement.frames import CONTROLLER, Grant, Place, Role
from sim.mina.agreement.operation_rule import Operation, Way
from sim.mina.golden.simulation import Simulation
from sim.p4sgd.golden.allreduce import saturated
from sim.p4sgd.golden.frames import LANES

SECONDS = PERIOD_NS * 1e-9  #: of a cycle
MOST_FRAMES = 256  #: of an operation, one a slot


class Host:
    """A host that does one operation with INA at a time, by the rules of the agreement's hosts."""

    def __init__(self, network, number, job, peers):
        self.network, self.number, self.job, self.peers = network, number, job, peers
        self.way = Way(switch=0, port=number, base=0)
        self.operation = None
        network.links.ends[Place(Role.HOST, number)] = self.take

    def begins(self, grant, index, parts):
        """The operation's frames are sent; an event that it is over."""
        plain = Operation(
            job=self.job, host=self.number, peers=self.peers, index=index, parts=parts
        )
        self.operation, self.over = operations.with_ina(plain, grant), Event()
        self.network.links.send(
            Place(Role.HOST, self.number), operations.sent(self.operation, self.way)
        )
        return self.over

    def take(self, _, frame):
        """An answer of the switch comes in: the sum of a slot is acknowledged at once."""
        before = self.operation
        self.operation = after = operations.data_rule(before, frame, self.way.base)
        if after.over:
            self.over.set()
        k = frame.slot - self.way.base
        if after.slots[k] == before.slots[k]:
            return ()
        alone = replace(after, slots=after.slots[k : k + 1], parts=after.parts[k : k + 1])
        return operations.sent(alone, replace(self.way, base=frame.slot))


class RtlJobs(Simulation):
    """The golden model's jobs and decisions, in cycles of the hardware.

    What a job computes and its operations without INA take the seconds that the model gives them.
    An operation with INA takes as long as the switch is acquired, adds up and is given back.
    """

    def __init__(self, cluster, jobs, network, frames, epoch=0):
        super().__init__(cluster, jobs)
        self.network, self.frames = network, frames  #: by job, of each operation of a step
        self.driver = network.switches[0].driver
        self.answers = Queue()
        network.links.ends[CONTROLLER] = self.hear
        self.epoch = epoch  #: of the last grant
        self.grants = []  #: job, and its operation's number from its first on, in order
        self.steps = [[] for _ in jobs]  #: by job: when each step began, in seconds, and the end
        self.start(0.0)
        assert not self.waiting, "all jobs run from the start"
        self.numbered = dict(enumerate(self.running))
        self.members = {
            host: Host(network, host, number, frozenset(job.placed) - {host})
            for number, job in self.numbered.items()
            for host in job.placed
        }

    async def register(self):
        """All jobs have the same slots, so that one of them has the switch at a time."""
        for number, job in self.numbered.items():
            ports = sum(1 << host for host in job.placed)
            entry = Command(
                verb=Verb.REGISTER,
                switch=0,
                job=number,
                epoch=self.epoch,
                ports=ports,
                count=MOST_FRAMES,
            )
            assert await self.ask(entry) is Verb.REGISTERED

    async def ask(self, command):
        """A command to the switch; the verb of its answer."""
        self.network.links.send(CONTROLLER, [(Place(Role.SWITCH, 0), command)])
        return (await self.answers.get()).verb

    def hear(self, _, answer):
        """The switch has answered."""
        self.answers.put_nowait(answer)
        return ()

    async def train(self):
        """All jobs, to their end."""
        self.zero = cycle()
        for task in [cocotb.start_soon(self.live(*job)) for job in self.numbered.items()]:
            await task

    @property
    def now(self):
        """Seconds since the jobs began."""
        return (cycle() - self.zero) * SECONDS

    async def live(self, number, job):
        """A job's events, one after the other."""
        training, steps = job.training, self.steps[number]
        while not training.finished:
            ahead = round((training.next - self.now) / SECONDS)
            if ahead > 0:
                await ClockCycles(self.network.dut.clk, ahead)
            training.next = self.now
            op = training.done * len(job.step.start) + training.op
            training.advance(training.decides and self.decide(job, self.now))
            if training.step_began not in steps:
                steps.append(training.step_began)
            if training.uses:
                self.grants.append((number, op))
                await self.add_up(number, op)
                training.next = self.now
        self.running.remove(job)

    async def add_up(self, number, op):
        """An operation with INA: the switch is acquired, adds up, and is given back."""
        job, self.epoch = self.numbered[number], self.epoch + 1
        command = Command(verb=Verb.ACQUIRE, switch=0, job=number, epoch=self.epoch)
        assert await self.ask(command) is Verb.GRANTED
        frames = self.frames[number]
        grant = Grant(job=number, epoch=self.epoch, first=op, end=op + 1)
        parts = [self.parts(frames[op % len(frames)]) for _ in job.placed]
        hosts = [self.members[host] for host in job.placed]
        waits = [host.begins(grant, op, part) for host, part in zip(hosts, parts, strict=True)]
        for wait in waits:
            await wait.wait()
        assert await self.ask(replace(command, verb=Verb.RELEASE)) is Verb.RELEASED
        right = tuple(map(saturated, np.sum(parts, axis=0)))
        assert all(host.operation.result == right for host in hosts), (number, op)

    def parts(self, count):
        """A host's part of an operation, drawn; some sums are clamped."""
        rows = self.network.links.rng.integers(-(1 << 31), 1 << 31, (count, LANES)).tolist()
        return tuple(map(tuple, rows))
