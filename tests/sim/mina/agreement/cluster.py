"""Models hosts, controller and switches in Python, on links that lose, double and reorder."""

from collections import Counter

import numpy as np

from sim.golden.reduction.allreduce import saturated
from sim.golden.reduction.frames import LANES
from sim.golden.tenancy import Command, Sizes, Verb
from sim.mina.agreement.controller import ControllerModel, Patience, Stable
from sim.mina.agreement.frames import (
    CONTROLLER,
    Data,
    Place,
    Role,
    Share,
)
from sim.mina.agreement.group_rule import GroupSetup
from sim.mina.agreement.host import HostModel
from sim.mina.agreement.member_rule import MemberSetup
from sim.mina.agreement.operation_rule import Route
from sim.mina.agreement.switch import SwitchModel
from sim.mina.agreement.switch_rule import SwitchSetup
from sim.mina.wire import from_octets, to_octets
from sim.switchgnn.links import Faults, Links

SLOTS = 2  #: of a job, so frames of an operation
BAD = Faults(drop=0.3, duplicate=0.3, reorder=0.3, again=0.3)
GOOD = Faults()


class Wires(Links):
    """Models links for MINA's frames; what hosts exchange without switches has no bytes."""

    def pack(self, frame):
        return frame if isinstance(frame, Share) else to_octets(frame)

    def unpack(self, octets, corrupt):
        return octets if isinstance(octets, Share) else from_octets(octets)

    def send(self, place, frames):
        for to, frame in frames:
            packed = self.pack(frame)
            self.flying.append(((to, place), packed))
            self.counts["frames"] += 1
            if self.faults.again:
                self.ever.append(self.flying[-1])


class Cluster:
    """Runs jobs on switches; host h is at port h of every switch."""

    def __init__(self, seed, jobs, trees, operations, faults=BAD, patience=None):
        self.rng = np.random.default_rng(seed)
        self.jobs = dict(jobs)
        self.links = Wires(self.rng, lanes=LANES, faults=faults)
        self.parts = {}
        self.job_of = {host: job for job, hosts in jobs for host in hosts}
        switches = sorted({switch for tree in trees for switch in tree})
        setup = GroupSetup(
            trees=trees, entries={(k, job): self.entry(k, job) for k in switches for job, _ in jobs}
        )
        turns = tuple((job, tree) for tree in range(len(trees)) for job, _ in jobs)
        self.controller = ControllerModel(
            setup=setup,
            stable=Stable(jobs=jobs),
            turns=turns,
            patience=patience or Patience(),
        )
        hosts = tuple(sorted(self.job_of))
        sizes = Sizes(ports=len(hosts), slots=SLOTS, jobs=len(jobs))
        self.switches = {
            k: SwitchModel(SwitchSetup(sizes=sizes, lanes=LANES, hosts=hosts)) for k in switches
        }
        self.hosts = {host: self.host(host, trees, operations) for host in hosts}
        self.dead = set()
        self.cut = set()  #: places that nothing comes to or from
        self.events = Counter()
        for place in (CONTROLLER, *self.places(Role.SWITCH), *self.places(Role.HOST)):
            self.links.ends[place] = lambda came_from, frame, at=place: self.take(
                at, came_from, frame
            )

    def places(self, role):
        """Return all places of a role."""
        return [Place(role, k) for k in (self.hosts if role is Role.HOST else self.switches)]

    def entry(self, switch, job):
        """Return the same slots for all jobs, so that only one of them has the switch."""
        ports = sum(1 << host for host in self.jobs[job])
        return Command(
            verb=Verb.REGISTER, switch=switch, job=job, epoch=0, ports=ports, base=0, count=SLOTS
        )

    def host(self, number, trees, operations):
        """Return a host with random parts; some of their sums are clamped."""
        job = self.job_of[number]
        setup = MemberSetup(
            host=number,
            job=job,
            peers=frozenset(self.jobs[job]) - {number},
            ways=tuple(Route(switch=tree[-1], port=number, base=0) for tree in trees),
            parts=lambda index: self.part(number, index),
        )
        return HostModel(setup, operations)

    def part(self, host, index):
        """Return a host's part of an operation, drawn when it is first asked for."""
        key = host, index
        if key not in self.parts:
            values = self.rng.integers(-(1 << 31), 1 << 31, (SLOTS, LANES))
            self.parts[key] = tuple(tuple(map(int, row)) for row in values)
        return self.parts[key]

    def right(self, job, index):
        """Return the sums of an operation, from its parts."""
        parts = np.array([self.part(host, index) for host in self.jobs[job]])
        return tuple(saturated(row) for row in parts.sum(axis=0))

    def take(self, place, came_from, frame):
        """Let a frame arrive; neither the dead take any, nor those that are cut off."""
        if self.cut & {place, came_from}:
            return ()
        if place.role is Role.CONTROLLER:
            return self.controller.on_frame(frame)
        if place.role is Role.HOST:
            return () if place.number in self.dead else self.hosts[place.number].on_frame(frame)
        port = came_from.number if isinstance(frame, Data) else 0
        return self.switches[place.number].on_frame(port, frame)

    def tick(self):
        """Let some time pass everywhere."""
        self.links.send(CONTROLLER, self.controller.on_tick())
        for number, host in self.hosts.items():
            if number not in self.dead:
                self.links.send(Place(Role.HOST, number), host.on_tick())

    def run(self, ticks, happens=None):
        """Let frames arrive in any order, and time pass, until all hosts are done."""
        for _ in range(ticks):
            if self.over():
                return
            self.tick()
            if happens is not None:
                happens()
            for _ in range(len(self.links.flying)):
                self.links.deliver()
        raise AssertionError(f"not over after {ticks} ticks: {self.state()}")

    def over(self):
        """Whether all hosts that live are done."""
        return all(host.over for number, host in self.hosts.items() if number not in self.dead)

    def state(self):
        """Return what is left to do, for a failure."""
        hosts = {k: model.member.host for k, model in self.hosts.items() if k not in self.dead}
        return f"{hosts}, {self.controller.group}"

    def check(self):
        """Check every sum that a host was given, to the last bit; live hosts have all."""
        for number, model in self.hosts.items():
            job = self.job_of[number]
            for index, sums in model.sums.items():
                assert sums == self.right(job, index), f"host {number}, operation {index}"
            if number not in self.dead and not model.member.host.ended:
                assert sorted(model.sums) == list(range(model.ready)), number

    def with_ina(self):
        """Return operations with INA and all that are over, by host."""
        return {k: (len(model.ina), len(model.sums)) for k, model in self.hosts.items()}

    def restart_controller(self):
        """Replace the controller by one that knows what outlives it."""
        self.controller = self.controller.restarted()
        self.events["controller restarts"] += 1

    def restart_switch(self, number):
        """Let a switch forget everything."""
        self.switches[number].restart()
        self.events["switch restarts"] += 1

    def kill(self, host):
        """Let a host die."""
        self.dead.add(host)
        self.events["deaths"] += 1
