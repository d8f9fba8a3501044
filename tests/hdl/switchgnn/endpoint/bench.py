"""Endpoints with their memories around a golden switch, on links that lose, double and reorder."""

import heapq
import random
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace

import cocotb
import numpy as np
from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import RisingEdge

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT_BYTES
from hdl.switchgnn.endpoint.endpoint import Endpoint
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.registers import endpoint_registers, numbered
from sim.harness.payloads import pack
from sim.harness.register_driver import RegisterDriver
from sim.harness.streams import cycle, never, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.axi_ram import RAM_ARRAY, AxiRam, AxiRamParams, ram_file
from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.wire import Addresses, judge, to_octets
from tests.hdl.switchgnn.endpoint.images import WorkerImage
from tests.sim.switchgnn.golden.test_bad_links import Cut

JOB, EPOCH = 5, 9
SWITCH = bytes.fromhex("02000000ff01")
RAMS = ("tables", "data")
NEVER_ENDS = 2_000_000  #: cycles; of a run that is stuck


def own_address(port):
    return bytes.fromhex("020000000a") + bytes([port])


@dataclass(frozen=True, kw_only=True)
class ClusterParams:
    """What is put together."""

    endpoint: EndpointParams
    workers: int = 2
    ram_bytes: int = 1 << 22

    @property
    def ram(self):
        return AxiRamParams(address_bits=self.endpoint.address_bits, processor=True)


class Cluster(Component):
    """Endpoints, each with a memory of tables, and one of features and sums."""

    def __init__(self, params):
        registers = endpoint_registers(params.endpoint)
        members = {}
        for k in range(params.workers):
            members |= {
                f"axil_{k}": In(AxiLiteSignature(address_bits=registers.address_bits)),
                f"m_axis_{k}": Out(AXIS),
                f"s_axis_{k}": In(AXIS),
            }
            for name in RAMS:
                members |= {
                    f"{name}_settings_{k}": In(params.ram.settings),
                    f"{name}_access_{k}": In(params.ram.access),
                    f"{name}_accessed_{k}": Out(params.ram.data_bits),
                }
        super().__init__(params, members)

    def elaborate(self, platform):
        m = Module()
        for k in range(self.params.workers):
            m.submodules[f"endpoint_{k}"] = endpoint = Endpoint(self.params.endpoint)
            connect(m, flipped(getattr(self, f"axil_{k}")), endpoint.s_axil)
            connect(m, endpoint.m_axis, flipped(getattr(self, f"m_axis_{k}")))
            connect(m, flipped(getattr(self, f"s_axis_{k}")), endpoint.s_axis)
            buses = {
                "tables": (endpoint.m_axi_tables,),
                "data": (endpoint.m_axi_features, endpoint.m_axi_sums),
            }
            for j, name in enumerate(RAMS):
                m.submodules[f"{name}_{k}"] = ram = AxiRam(self.params.ram)
                for bus in buses[name]:
                    for signal, member in bus.signature.members.items():
                        here, there = getattr(ram.axi, signal), getattr(bus, signal)
                        m.d.comb += here.eq(there) if member.flow is Out else there.eq(here)
                m.d.comb += [
                    ram.index.eq(2 * k + j),
                    ram.settings.eq(getattr(self, f"{name}_settings_{k}")),
                    ram.access.eq(getattr(self, f"{name}_access_{k}")),
                    getattr(self, f"{name}_accessed_{k}").eq(ram.accessed),
                ]
        return m


def run_cluster(test_module, folder, params, workers=2, **options):
    """The cocotb tests of ``test_module`` on so many endpoints."""
    cluster = ClusterParams(endpoint=params, workers=workers)
    empty = folder / "empty.bin"
    empty.write_bytes(bytes(cluster.ram_bytes))
    return simulate(
        Cluster(cluster),
        test_module,
        extra_sources=[RAM_ARRAY],
        plusargs=[ram_file(k, empty) for k in range(len(RAMS) * workers)],
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


class Worker:
    """The host of an endpoint."""

    def __init__(self, dut, port, params):
        self.dut, self.port, self.params = dut, port, params
        self.edge, self.address = RisingEdge(dut.clk), own_address(port)
        self.registers = RegisterDriver(dut, f"axil_{port}", endpoint_registers(params.endpoint))
        for name in RAMS:
            getattr(dut, f"{name}_access_{port}").value = 0
            self.set(name)

    def set(self, name, **settings):
        """What the memory ``name`` is like."""
        word = pack(self.params.ram.settings, {"read_latency": 20} | settings)
        getattr(self.dut, f"{name}_settings_{self.port}").value = word

    async def write(self, name, content, at=0):
        """Write ``content`` to memory beside the bus."""
        access = getattr(self.dut, f"{name}_access_{self.port}")
        for k in range(0, len(content), BEAT_BYTES):
            beat = {
                "valid": 1,
                "beat": (at + k) // BEAT_BYTES,
                "strobes": (1 << BEAT_BYTES) - 1,
                "data": int.from_bytes(content[k : k + BEAT_BYTES], "little"),
            }
            access.value = pack(self.params.ram.access, beat)
            await self.edge
        access.value = 0

    async def read(self, name, size):
        """The first bytes of a memory."""
        access = getattr(self.dut, f"{name}_access_{self.port}")
        accessed, content = getattr(self.dut, f"{name}_accessed_{self.port}"), b""
        for k in range(0, size, BEAT_BYTES):
            access.value = pack(self.params.ram.access, {"valid": 1, "beat": k // BEAT_BYTES})
            await self.edge
            await self.edge
            content += int(accessed.value).to_bytes(BEAT_BYTES, "little")
        access.value = 0
        return content[:size]

    async def load(self, setup):
        """Lay a job out in memory."""
        self.image = WorkerImage(self.params.endpoint, setup)
        for name, memory in (("tables", self.image.tables), ("data", self.image.data)):
            assert len(memory.bytes) <= self.params.ram_bytes
            await self.write(name, bytes(memory.bytes))

    async def start(self, setup, *, epoch=EPOCH, ready=None, **settings):
        """Set the registers, and run a job that :meth:`load` has laid out."""
        numbers = {
            "own_address": int.from_bytes(self.address, "little"),
            "switch_address": int.from_bytes(SWITCH, "little"),
            "program": self.image.program,
        }
        await self.registers.write_wide(**numbers)
        fields = {
            "worker": 1 << self.port,
            "job": JOB,
            "epoch": epoch,
            "turns": setup.turns,
            "ready_turns": setup.turns if ready is None else ready,
            "two_open": setup.open_turns - 1,
            "send_timeout": 700,
            "fetch_timeout": 1500,
            "fetch_gap": 20,
            "done_timeout": 900,
        }
        await self.registers.write(**(fields | settings))
        await self.registers.write(start=1)

    async def counters(self):
        """All that are not zero, by name."""
        found = {}
        for number in numbered():
            await self.registers.write(counter=number)
            found[number.name.lower()] = await self.registers.read("count")
        return SimpleNamespace(**found)

    async def ends(self):
        """The state that the job ends in, and its cause."""
        first = cycle()
        while (state := (await self.registers.read("state")).name) in ("RUNNING", "STOPPING"):
            assert cycle() < first + NEVER_ENDS, "the job does not end"
            for _ in range(100):
                await self.edge
        return state, (await self.registers.read("cause")).name

    async def found(self):
        """Sums and copies that are in memory."""
        size = len(self.image.first)
        return self.image.found(await self.read("data", size))


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
            self.workers.append(Worker(dut, port, self.params))
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
            await worker.start(own, epoch=epoch, **settings)

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
