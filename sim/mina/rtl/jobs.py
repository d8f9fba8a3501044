"""Runs jobs whose all-reduces with INA go through switches in RTL; all else is a timed wait."""

import random
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, Event, with_timeout

from sim.golden.reduction.allreduce import saturated
from sim.golden.reduction.frames import LANES
from sim.golden.tenancy import Command, Verb
from sim.harness.clock import PERIOD_NS, cycle
from sim.host.switch.pattern import PatternRecorder
from sim.mina.agreement import operation_rule as operations
from sim.mina.agreement.frames import Data, Grant
from sim.mina.agreement.operation_rule import Operation, Parts, Route
from sim.mina.golden.simulation import Cluster, GoldenJob, Simulation
from sim.mina.rtl.ends import Controller, Ends
from sim.mina.surroundings.cluster_system import MAX_FRAMES, ClusterParams

SECONDS = PERIOD_NS * 1e-9  #: length of a cycle
FRAME_BYTES = 4 * LANES  #: bytes of numbers in a frame
PATIENCE = 100  #: limit of an all-reduce's time, as a multiple of that of sending


class Host:
    """Plays a host, which does one all-reduce with INA at a time, by the agreement's rules."""

    def __init__(self, ends: Ends, host: int, job: int, path: Route, peers: frozenset[int]) -> None:
        self.ends, self.host, self.job, self.path, self.peers = ends, host, job, path, peers
        self.operation: Operation | None = None
        self.over = Event()
        ends.takes[host] = self.take

    def begins(self, grant: Grant, parts: Parts) -> None:
        """Send all frames of an all-reduce; ``over`` is set when it has ended."""
        plain = Operation(
            job=self.job, host=self.host, peers=self.peers, index=grant.first, parts=parts
        )
        self.operation = operations.with_ina(plain, grant)
        self.over.clear()
        self.send(self.operation, self.path)

    def send(self, operation: Operation, path: Route) -> None:
        """Send the operation's frames to the switch."""
        frames = [frame for _, frame in operations.sent(operation, path)]
        self.ends.send(self.host, *(frame for frame in frames if isinstance(frame, Data)))

    def take(self, frame: Data) -> None:
        """Take an answer of the switch; acknowledge the sum of a slot at once."""
        before = self.operation
        assert before is not None
        self.operation = after = operations.data_rule(before, frame, self.path.base)
        if after.over:
            self.over.set()
        k = frame.slot - self.path.base
        if after.slots[k] != before.slots[k]:
            alone = replace(after, slots=after.slots[k : k + 1], parts=after.parts[k : k + 1])
            self.send(alone, replace(self.path, base=frame.slot))


class RtlJobs(Simulation):
    """Runs the jobs of the golden model, by its decisions, in cycles of the hardware.

    A job's computing and its all-reduces without INA take the seconds that the model gives them. An
    all-reduce with INA takes as long as the switches of its tree need: they are acquired, add up,
    and are released. Beside each job a task is its application, which computes and calls for
    all-reduces; what it calls for is recorded as MINA's runtime does.
    """

    def __init__(
        self,
        cluster: Cluster,
        jobs: Sequence[GoldenJob],
        frames: Sequence[Sequence[int]],
        params: ClusterParams,
        ends: Ends,
    ) -> None:
        super().__init__(cluster, jobs)
        self.params, self.ends, self.controller = params, ends, Controller(ends, params)
        self.wiring = params.wiring
        self.numbers = {id(job): number for number, job in enumerate(jobs)}
        self.frames = frames  #: frames of each all-reduce of a step, by job
        self.seed = random.getrandbits(32)  #: of the numbers of all all-reduces
        self.epoch = 0  #: number of the last grant
        self.grants: list[tuple[int, int]] = []  #: number of the job, and of its all-reduce
        self.begins: list[list[float]] = [[] for _ in jobs]  #: begins of a job's steps, and its end
        self.starts: list[list[float]] = [[] for _ in jobs]  #: when a job's all-reduces began
        self.recorders: dict[int, PatternRecorder] = {}  #: by number of the job
        self.over = [Event() for _ in jobs]  #: set when the job's step ends
        self.tasks: list[Any] = []
        self.zero = 0

    @property
    def now(self) -> float:
        """Return the seconds since the jobs began."""
        return (cycle() - self.zero) * SECONDS

    async def train(self) -> None:
        """Run all jobs, also those that arrive later, to their end."""
        self.zero = cycle()
        arrivals = sorted({job.arrival for job in self.waiting if job.arrival > 0})
        self.begin(0.0)
        for arrival in arrivals:
            await self.until(arrival)
            self.begin(arrival)
        for task in self.tasks:  # which grow meanwhile
            await task

    def begin(self, now: float) -> None:
        """Start the jobs that find room."""
        before = list(self.running)
        self.start(now)
        new = [job for job in self.running if job not in before]
        self.tasks += [cocotb.start_soon(self.live(job)) for job in new]

    async def until(self, time: float) -> None:
        """Wait until ``time`` seconds since the jobs began."""
        ahead = round((time - self.now) / SECONDS)
        if ahead > 0:
            await ClockCycles(self.ends.dut.clk, ahead)

    async def live(self, job: GoldenJob) -> None:
        """Carry out a job's events, one after the other."""
        number, training = self.numbers[id(job)], job.training
        members = await self.enter(job, number)
        begins = self.begins[number]
        while not training.finished:
            await self.until(training.next)
            training.next = self.now
            index, done = training.done * len(job.step.start) + training.op, training.done
            if training.decides:
                self.starts[number].append(self.now)
            training.advance(training.decides and self.decide(job, self.now))
            if training.done > done:
                self.over[number].set()
            if training.started and training.step_began not in begins:
                begins.append(training.step_began)
                if len(begins) == 1:
                    self.tasks.append(cocotb.start_soon(self.compute(job)))
            if training.uses:
                self.grants.append((number, index))
                await self.add_up(job, members, index, self.frames[number][training.op])
                training.next = self.now
        self.running.remove(job)
        self.free |= set(job.placed)
        self.begin(self.now)

    async def compute(self, job: GoldenJob) -> None:
        """Compute a job's steps: call for all-reduces when they may start, then wait for all."""
        number, step = self.numbers[id(job)], job.step
        recorder = PatternRecorder(
            f"job {number + 1}",
            job.hosts,
            arrival=job.arrival,
            warm_up=min(1, job.steps - 1),
            now=lambda: self.now,
        )
        self.recorders[number] = recorder
        for _ in range(job.steps):
            began = self.now
            for start, frames in zip(step.start, self.frames[number], strict=True):
                await self.until(began + start)
                recorder.scheduled(frames * FRAME_BYTES)
            await self.until(began + step.period)
            recorder.waits()
            await self.over[number].wait()
            self.over[number].clear()
            recorder.resumed()

    async def enter(self, job: GoldenJob, number: int) -> list[Host]:
        """Register a job with the switches of its tree; return its hosts, if it has a tree."""
        if job.tree is None or job.hosts == 1:
            return []
        base = number * MAX_FRAMES
        entries = {
            switch: Command(
                verb=Verb.REGISTER,
                switch=switch,
                job=number,
                epoch=self.epoch,
                ports=ports,
                parent=parent,
                base=base,
                count=MAX_FRAMES,
            )
            for switch, (ports, parent) in self.wiring.tree(job.placed, job.root).items()
        }
        await self.controller.request_all(entries, Verb.REGISTERED)
        hosts = []
        for host in job.placed:
            switch, port = self.wiring.host_port(host)
            path = Route(switch=switch, port=port, base=base)
            hosts.append(Host(self.ends, host, number, path, frozenset(job.placed) - {host}))
        return hosts

    async def add_up(self, job: GoldenJob, members: list[Host], index: int, count: int) -> None:
        """Do an all-reduce with INA: acquire switches, add up, release them, check the sums."""
        grant = await self.acquire(job, index)
        await self.sum_up(members, grant, count)
        await self.release(job, grant)

    async def acquire(self, job: GoldenJob, index: int) -> Grant:
        """Acquire the switches of a job's tree for all-reduce ``index``."""
        self.epoch += 1
        grant = Grant(job=self.numbers[id(job)], epoch=self.epoch, first=index, end=index + 1)
        await self.controller.request_all(self.commands(job, grant, Verb.ACQUIRE), Verb.GRANTED)
        return grant

    async def release(self, job: GoldenJob, grant: Grant) -> None:
        """Release the switches of a job's tree."""
        await self.controller.request_all(self.commands(job, grant, Verb.RELEASE), Verb.RELEASED)

    def commands(self, job: GoldenJob, grant: Grant, verb: Verb) -> dict[int, Command]:
        """Return a command for each switch of a job's tree, by its number."""
        return {
            switch: Command(verb=verb, switch=switch, job=grant.job, epoch=grant.epoch)
            for switch in self.wiring.tree(job.placed, job.root)
        }

    async def sum_up(self, members: list[Host], grant: Grant, count: int) -> None:
        """Add up ``count`` frames of each host in switches that are acquired; check the sums."""
        rng = Random(f"{self.seed} {grant.job} {grant.first}")  # whatever other jobs have drawn
        parts = [drawn_parts(rng, count) for _ in members]
        for host, part in zip(members, parts, strict=True):
            host.begins(grant, part)
        most = PATIENCE * self.params.pace * count
        for host in members:
            await with_timeout(host.over.wait(), most * PERIOD_NS, "ns")
        right = tuple(
            saturated([sum(lane) for lane in zip(*slot, strict=True)])
            for slot in zip(*parts, strict=True)
        )
        for host in members:
            assert host.operation is not None
            assert host.operation.result == right, grant


def drawn_parts(rng: Random, count: int) -> Parts:
    """Draw a host's part of an all-reduce, from all numbers of 32 bits, so that sums saturate."""
    low, high = -(1 << 31), (1 << 31) - 1
    return tuple(tuple(rng.randint(low, high) for _ in range(LANES)) for _ in range(count))
