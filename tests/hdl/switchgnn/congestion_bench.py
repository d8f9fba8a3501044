"""Runs two endpoints whose sums go to a third one, through real switches."""

import random
from types import MappingProxyType

import numpy as np
from scipy.sparse import csr_array

from hdl.switchgnn.endpoint.bundles import State
from sim.harness.streams import RESET_CYCLES, cycle
from sim.harness.verilator import params_in_simulator
from sim.switchgnn.gcn.golden_aggregator import deepest
from sim.switchgnn.golden.aggregation import aggregate
from sim.switchgnn.golden.congestion import UNIT
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.network.link_settings import LinkSettings
from sim.switchgnn.network.network import NetworkParams
from sim.switchgnn.network.network_host import NetworkHost
from sim.switchgnn.network.requests import Begin
from sim.switchgnn.planning.levels import levels
from sim.switchgnn.planning.preparation import prepare
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.workers import provided_workers
from sim.switchgnn.racked_job import RackedJob

SENDERS, RECEIVER = 2, 2  #: workers 0 and 1 send, worker 2 gets all sums
TRIP, STEP = 140, UNIT // 64
RATES = MappingProxyType({"least": 256, "step": STEP, "round_trip": TRIP})


def jain(shares):
    """Return Jain's index of fairness (Jain, Chiu, Hawe, 1984)."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


class Bench(NetworkHost):
    """Runs a job in which two workers' features become sums of a third."""

    def __init__(self, dut, ecn=True, first=RATES, second=RATES):
        links = LinkSettings(seed=random.getrandbits(31))
        begin = Begin(open_turns=1, links=links, ecn=ecn)
        super().__init__(dut, params_in_simulator(NetworkParams), begin)
        self.chosen = [first, second, RATES, RATES][: self.count]

    def rates(self, job):
        return self.chosen

    async def begin(self):
        self.reset = cycle() + RESET_CYCLES
        await super().begin()

    async def start(self, features, turns, *, shared=False):
        """Start a job in which each sender has so many features; each is a sum, or a part of one.

        A sum that is ``shared`` has a feature of each sender.
        """
        count, params, workers = SENDERS * features, self.params, self.count
        sender = np.arange(count)
        target = sender // SENDERS if shared else sender
        size = count + target[-1] + 1
        graph = csr_array((np.ones(count, np.int8), (count + target, sender)), shape=(size, size))
        owner = np.r_[sender % SENDERS, np.full(target[-1] + 1, RECEIVER)]
        switch, width = params.switch, turns * params.switch.lanes
        shape = SwitchShape(
            ports=workers,
            banks=switch.banks,
            depth=params.endpoints.endpoint.depth,
            lanes=switch.lanes,
        )
        self.built = prepare(graph, provided_workers(owner, size, workers), shape, [width])
        sizes = {"depth": deepest(self.built.tables), "window": switch.window}
        if params.racks == 1:
            planned = PlannedJob(self.built.tables, [], **sizes)
        else:  # a worker each
            divided = levels(self.built, np.arange(workers), switch.ports, switch.links)
            planned = RackedJob(divided, [], **sizes)
        payload = np.random.default_rng(random.getrandbits(32)).integers(-99, 99, (size, width))
        self.expected = aggregate(graph, payload)
        self.job = await self.launch({width: planned}, payload.astype(np.int16))
        self.begun = cycle() - self.reset

    async def each(self, name):
        """Return a register of both senders."""
        return [int(await worker.read(name)) for worker in self.workers[:SENDERS]]

    async def sent(self):
        """Return how many features each sender has sent."""
        return [await worker.run("counter", "sent_feature") for worker in self.workers[:SENDERS]]

    async def finish(self):
        """The job ends, and all sums are right."""
        await self.ends(self.job)
        assert (await self.sums_of(self.job) == self.expected).all()

    async def shares(self, features, turns):
        """Run a job of so many features of each sender, the second of which begins at an eighth of
        the rate; return how many of them both have sent in each turn, until one had sent all.
        """
        await self.start(features, turns)
        await self.workers[1].write(rate_most=UNIT)
        seen = []
        while int(await self.workers[RECEIVER].read("state")) == State.RUNNING.value:
            seen.append(await self.sent())
        await self.finish()
        result = []
        for turn in range(turns):
            of_turn = [[min(n - turn * features, features) for n in both] for both in seen]
            result.append([both for both in of_turn if min(both) > 0 and max(both) < features][-1])
        return result

    async def halved(self):
        """Return how often each sender's rate was halved."""
        return [await worker.run("counter", "halvings") for worker in self.workers[:SENDERS]]
