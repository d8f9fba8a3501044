"""Runs endpoints with their memories around a golden switch, on links that lose and reorder."""

import random
from types import SimpleNamespace

import numpy as np

from sim.harness.streams import never
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.axi_ram import RAM_ARRAY
from sim.switchgnn.network.cluster import Cluster, ClusterParams
from sim.switchgnn.network.golden_hub import GoldenHub
from sim.switchgnn.network.network import empty_memories
from tests.hdl.switchgnn.endpoint.guard import Guard
from tests.sim.switchgnn.golden.cut_graphs import Cut

JOB, EPOCH = 5, 9


def run_cluster(test_module, folder, params, workers=2, **options):
    """Run the cocotb tests of ``test_module`` on this many endpoints."""
    cluster = ClusterParams(endpoint=params, workers=workers)
    return simulate(
        Cluster(cluster),
        test_module,
        extra_sources=[RAM_ARRAY],
        plusargs=empty_memories(cluster, folder),
        **options,
    )


class LaneCut(Cut):
    """A random graph cut between workers, with features of this many lanes.

    The graph has up to ``used`` aggregators of each bank, which lie anywhere among all.
    """

    def __init__(self, rng, lanes, *, depth, used=8, **sizes):
        super().__init__(rng, depth=min(used, depth), **sizes)
        places = rng.permutation(depth)[: self.depth].tolist()
        self.depth = depth
        self.rows = [[None if k is None else places[k] for k in row] for row in self.rows]
        for v, place in self.place.items():
            index, bank = divmod(place, self.banks)
            self.place[v] = places[index] * self.banks + bank
        self.shares = {named: self.share(*named) for named in self.shares}
        shape = (self.turns, len(self.owner), lanes)
        low = rng.integers(2, size=shape) * -65535 + 32767  # the extremes
        some = rng.integers(-(1 << 15), 1 << 15, shape)
        self.features = np.where(rng.random(shape) < 0.3, low, some)


async def launch(workers, cut, job, epoch, *, load=True, ready=None, **timers):
    """Start a job at all workers, when all have it in their memories."""
    setups = [cut.worker(worker.port, job, epoch).setup for worker in workers]
    for worker, own in zip(workers, setups, strict=True):
        await worker.set_up(**timers)
        if load:
            worker.guard = Guard(worker, own)
            await worker.guard.fill()
            await worker.load(own)
            await worker.guard.begin()
    for worker, own in zip(workers, setups, strict=True):
        await worker.start(own, job=job, epoch=epoch, ready=ready)


async def finish(workers, cut):
    """The job runs to its end; every sum and copy in memory is right, and nothing else changed."""
    for worker in workers:
        assert await worker.ends() == "FINISHED"
    results = {}
    for worker in workers:
        sums, copies = await worker.sums(), await worker.copies()
        await worker.guard.check(worker.layout, sums, copies)
        results[worker.port] = SimpleNamespace(sums=sums, copies=copies)
    cut.check(results)


class Bench(GoldenHub):
    """Runs random jobs on the endpoints, and checks every sum and copy."""

    def __init__(self, dut, faults=None, *, stall=never):
        super().__init__(
            dut, params_in_simulator(ClusterParams), job=JOB, faults=faults, stall=stall
        )
        self.rng = np.random.default_rng(random.getrandbits(64))

    def cut(self, *, open_turns=1, blocks=2, steps=2):
        """Draw a job of all workers, and return each worker's setup of it."""
        endpoint = self.params.endpoint
        return LaneCut(
            self.rng,
            self.lanes,
            ports=list(range(self.params.workers)),
            banks=endpoint.banks,
            depth=endpoint.depth,
            open_turns=open_turns,
            blocks=blocks,
            window=endpoint.window,
            steps=steps,
        )

    def waiting_cut(self, **sizes):
        """Draw a job whose first and last turn, of one block, wait for features.

        A turn in which no worker gets anything ends without features, and so may the whole job.
        """
        while True:
            cut = self.cut(**sizes)
            shares = [cut.shares[port, cut.program[0].block] for port in cut.ports]
            if any(share.sums or share.copies for share in shares):
                return cut

    async def launch(self, cut, *, epoch=EPOCH, load=True, **settings):
        """Start a job at the switch and all workers."""
        self.run_switch(cut.setup(), epoch)
        await launch(self.workers, cut, JOB, epoch, load=load, **settings)

    async def finish(self, cut):
        """The job runs to its end, and the switch stops."""
        await finish(self.workers, cut)
        self.switch = None

    async def run(self, cut, **settings):
        """A job from its start to its end."""
        await self.launch(cut, **settings)
        await self.finish(cut)
