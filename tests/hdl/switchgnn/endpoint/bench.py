"""Endpoints with their memories around a golden switch, on links that lose, double and reorder."""

import heapq
import random
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from hdl.common.packets import AXIS, BEAT_BYTES
from sim.harness.streams import cycle, never, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.axi_ram import RAM_ARRAY
from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.network.cluster import Cluster, ClusterParams
from sim.switchgnn.network.network import empty_memories
from sim.switchgnn.network.worker_host import SWITCH, WorkerHost, own_address
from sim.switchgnn.wire import Addresses, judge, to_octets
from tests.sim.switchgnn.golden.test_bad_links import Cut

JOB, EPOCH = 5, 9


def run_cluster(test_module, folder, params, workers=2, **options):
    """The cocotb tests of ``test_module`` on so many endpoints."""
    cluster = ClusterParams(endpoint=params, workers=workers)
    return simulate(
        Cluster(cluster),
        test_module,
        extra_sources=[RAM_ARRAY],
        plusargs=empty_memories(cluster, folder),
        **options,
    )


class LaneCut(Cut):
    """A random graph cut between workers, with features of so many lanes.

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


@dataclass
class Faults:
    """Chances of a packet, and the most cycles that it takes beyond the others."""

    lose: float = 0
    double: float = 0
    late: float = 0
    corrupt: float = 0
    delay: int = 400
    latency: int = 20

    def fates(self):
        """The cycles after which a packet comes, each time that it does."""
        if random.random() < self.lose:
            return
        for _ in range(1 + (random.random() < self.double)):
            yield self.latency + (random.random() < self.late) * random.randrange(self.delay)


class Wire:
    """Packets to the endpoint at ``port``, beat by beat, and those that come from it."""

    def __init__(self, dut, port, taken, faults, *, stall=never):
        self.dut, self.port, self.taken, self.faults = dut, port, taken, faults
        self.edge, self.stall = RisingEdge(dut.clk), stall
        self.number, self.to, self.back = count(), [], []  # under way, by the cycle that it comes
        self.sent = []  # cycles of each packet's first and last beat, and its bytes
        self.pause = never
        self.axes = {
            side: {name: getattr(dut, f"{side}_axis_{port}_{name}") for name in AXIS.members}
            for side in "ms"
        }
        self.axes["s"]["tvalid"].value = 0
        self.axes["m"]["tready"].value = 1
        cocotb.start_soon(self.give())
        cocotb.start_soon(self.take())

    def send(self, octets):
        """A packet to the endpoint; what becomes of it is chance."""
        for delay in self.faults.fates():
            heapq.heappush(self.to, (cycle() + delay, next(self.number), octets))

    async def give(self):
        axis = self.axes["s"]
        while True:
            await self.edge
            if not self.to or self.to[0][0] > cycle():
                continue
            _, _, octets = heapq.heappop(self.to)
            corrupt = random.random() < self.faults.corrupt
            parts = [octets[at : at + BEAT_BYTES] for at in range(0, len(octets), BEAT_BYTES)]
            for k, part in enumerate(parts):
                axis["tvalid"].value = 1
                axis["tdata"].value = int.from_bytes(part, "little")
                axis["tkeep"].value = (1 << len(part)) - 1
                axis["tlast"].value = last = k == len(parts) - 1
                axis["tuser"].value = last and corrupt
                await self.edge
            axis["tvalid"].value = 0

    async def take(self):
        axis, octets, first = self.axes["m"], b"", 0
        while True:
            stalls = self.stall()
            axis["tready"].value = not stalls
            await self.edge
            while self.back and self.back[0][0] <= cycle():
                self.taken(self.port, heapq.heappop(self.back)[2])
            if stalls or not axis["tvalid"].value:
                continue
            first = first if octets else cycle()
            size = int(axis["tkeep"].value).bit_count()
            octets += int(axis["tdata"].value).to_bytes(BEAT_BYTES, "little")[:size]
            if axis["tlast"].value:
                assert not axis["tuser"].value
                self.sent.append((first, cycle(), octets))
                for delay in self.faults.fates():
                    heapq.heappush(self.back, (cycle() + delay, next(self.number), octets))
                octets = b""


class Bench:
    """A golden switch between the endpoints; ports are numbered as they are."""

    def __init__(self, dut, faults=None, *, stall=never):
        self.dut, self.params = dut, params_in_simulator(ClusterParams)
        self.lanes = self.params.endpoint.lanes
        self.rng = np.random.default_rng(random.getrandbits(64))
        self.faults = faults or Faults()
        self.switch = None
        self.workers, self.wires = [], []
        for port in range(self.params.workers):
            self.workers.append(WorkerHost(dut, port, self.params))
            self.wires.append(Wire(dut, port, self.take, self.faults, stall=stall))

    async def begin(self):
        await start(self.dut)

    def cut(self, *, open_turns=1, blocks=2, steps=2):
        """A random job of all workers, and its setup of each."""
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

    def run_switch(self, setup, epoch=EPOCH):
        """A switch whose events are those of time."""
        size = setup.open_turns * setup.depth
        self.switch = SwitchModel(
            ports=self.params.workers, banks=setup.banks, depth=size, jobs=JOB + 1
        )
        refused = self.switch.start_job(JOB, setup=setup, epoch=epoch, base=0)
        assert refused is None
        cocotb.start_soon(self.pass_time())

    async def pass_time(self):
        switch, edge = self.switch, RisingEdge(self.dut.clk)
        while True:
            switch.load()
            self.send(switch.ack_delay_over())
            for _ in range(150):
                await edge
                if self.switch is not switch:
                    return

    def take(self, port, octets):
        if self.switch is None:
            return
        corrupt = random.random() < self.faults.corrupt
        self.send(self.switch.take(port, judge(octets, self.lanes, SWITCH, corrupt=corrupt)))

    def send(self, frames):
        for port, frame in frames:
            addresses = Addresses(own_address(port), SWITCH)
            self.wires[port].send(to_octets(frame, self.lanes, addresses))

    async def launch(self, cut, *, epoch=EPOCH, load=True, **settings):
        """Start a job at the switch and all workers."""
        setups = [cut.worker(port, JOB, epoch).setup for port in range(self.params.workers)]
        self.run_switch(cut.setup(), epoch)
        for worker, own in zip(self.workers, setups, strict=True):
            if load:
                await worker.load(own)
        for worker, own in zip(self.workers, setups, strict=True):
            await worker.start(own, job=JOB, epoch=epoch, **settings)

    async def finish(self, cut):
        """The job runs to its end; every sum and copy in memory is right."""
        for worker in self.workers:
            assert await worker.ends() == ("FINISHED", "NONE")
        self.switch, found = None, {}
        for worker in self.workers:
            sums, copies = await worker.found()
            found[worker.port] = SimpleNamespace(sums=sums, copies=copies)
        cut.check(found)

    async def run(self, cut, **settings):
        """A job from its start to its end."""
        await self.launch(cut, **settings)
        await self.finish(cut)
