"""Runs jobs whose switches are hardware, with tasks for their hosts and for the controller."""

import cocotb
from cocotb.triggers import ClockCycles

from sim.mina.agreement.frames import CONTROLLER, Place, Role
from sim.switchgnn.links import Faults
from tests.sim.mina.agreement.cluster import Cluster
from tests.sim.mina.rtl.network import GOOD, RtlNetwork

TICK = 150  #: cycles of a tick of hosts and controller
PATIENCE = 8000  #: tens of cycles that something may take


class RtlCluster(Cluster):
    """The cluster of the agreement's models, with the hardware as its switches.

    Hosts begin with no operation; :meth:`train` lets them do some, each after it has computed.
    """

    def __init__(self, dut, params, seed, jobs, trees, *, faults=GOOD, **options):
        super().__init__(seed, jobs, trees, 0, **options)
        self.dut, ends = dut, self.links.ends
        self.network = RtlNetwork(dut, params, self.rng, faults)
        self.links, self.switches = self.network.links, self.network.switches
        self.links.ends = ends
        self.busy = False

    async def begin(self):
        """Start all tasks."""
        await self.network.begin()
        for task in (self.control(), *map(self.live, self.hosts)):
            cocotb.start_soon(task)
        return self

    async def control(self):
        """Run the controller's timer."""
        while True:
            await ClockCycles(self.dut.clk, TICK)
            self.links.send(CONTROLLER, self.controller.on_tick())

    async def live(self, number):
        """Run a host's timer."""
        place = Place(Role.HOST, number)
        await ClockCycles(self.dut.clk, 1 + 7 * number)
        while number not in self.dead:
            self.links.send(place, self.hosts[number].on_tick())
            await ClockCycles(self.dut.clk, TICK)

    async def train(self, operations, compute=200):
        """Hosts that live do ``operations``, computing for this many cycles before each of them.

        They go on for longer while ``busy`` is set; all hosts of a job do equally many.
        """
        goals = {job: self.hosts[hosts[0]].ready + operations for job, hosts in self.jobs.items()}
        tasks = [cocotb.start_soon(self.do(k, goals, compute)) for k in self.hosts]
        for task in tasks:
            await task

    async def do(self, number, goals, compute):
        """Do a host's operations up to its job's goal, which moves on while all are busy."""
        model, job = self.hosts[number], self.job_of[number]
        while number not in self.dead and not model.member.host.ended:
            if model.ready == goals[job]:
                if not self.busy:
                    return
                goals[job] += 1
            await ClockCycles(self.dut.clk, compute + 10 * job)
            model.ready += 1
            await self.until(lambda: model.over or number in self.dead)

    async def until(self, done):
        """Let time pass until something is so."""
        for _ in range(PATIENCE):
            if done():
                return
            await ClockCycles(self.dut.clk, 10)
        raise AssertionError(f"it does not come about: {self.state()}")

    def left(self):
        """Return the models of hosts whose job has lost none."""
        jobs = self.controller.stable.jobs
        live = {job for job, hosts in jobs if not self.dead & set(hosts)}
        return [model for model in self.hosts.values() if model.setup.job in live]

    async def usable(self):
        """Make links good, and check that jobs of living hosts use INA again, none locked."""
        self.links.faults = GOOD
        first = {model.setup.host: model.ready for model in self.left()}
        for _ in range(50):
            await self.train(2)
            models = self.left()
            if all(max(item.ina, default=-1) >= first[item.setup.host] for item in models):
                break
        else:
            raise AssertionError(f"no INA any more: {self.state()}")
        await self.until(lambda: not any(item.member.host.locked for item in self.left()))
        self.check()

    def restart_switch(self, number):
        """Reset a switch, whatever it is about to do."""
        cocotb.start_soon(self.switches[number].reset())
        self.events["switch restarts"] += 1


BAD = Faults(drop=0.1, duplicate=0.1, reorder=0.2, again=0.1)
