"""A worker's host: it lays a job out in its endpoint's memories, and runs it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from cocotb.triggers import RisingEdge

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.endpoint.registers import endpoint_registers, numbered
from sim.harness.payloads import pack
from sim.harness.register_driver import RegisterDriver
from sim.harness.session import RunFailed
from sim.harness.streams import cycle
from sim.switchgnn.golden.worker_rule import WorkerSetup
from sim.switchgnn.network.cluster import RAMS, ClusterParams
from sim.switchgnn.network.worker_image import Sums, WorkerImage

SWITCH = bytes.fromhex("02000000ff01")  #: the switch's address
NEVER_ENDS = 2_000_000  #: cycles; of a run that is stuck
POLL_CYCLES = 100  #: between two looks at a job's state


def own_address(port: int) -> bytes:
    """The address of an endpoint."""
    return bytes.fromhex("020000000a") + bytes([port])


class WorkerHost:
    """The host of an endpoint, in a simulation of :class:`sim.switchgnn.network.cluster.Cluster`.

    It reaches the memories beside their buses, a beat a cycle.
    """

    image: WorkerImage  #: what :meth:`load` has written

    def __init__(self, dut: Any, port: int, params: ClusterParams) -> None:
        self.dut, self.port, self.params = dut, port, params
        self.edge, self.address = RisingEdge(dut.clk), own_address(port)
        self.registers = RegisterDriver(dut, f"axil_{port}", endpoint_registers(params.endpoint))
        for name in RAMS:
            getattr(dut, f"{name}_access_{port}").value = 0
            self.set(name)

    def set(self, name: str, **settings: int) -> None:
        """What the memory ``name`` is like."""
        word = pack(self.params.ram.settings, {"read_latency": 20} | settings)
        getattr(self.dut, f"{name}_settings_{self.port}").value = word

    async def write(self, name: str, content: bytes, at: int = 0) -> None:
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

    async def read(self, name: str, size: int, at: int = 0) -> bytes:
        """So many bytes of a memory, from a beat's first on."""
        access = getattr(self.dut, f"{name}_access_{self.port}")
        accessed, content = getattr(self.dut, f"{name}_accessed_{self.port}"), b""
        for k in range(at, at + size, BEAT_BYTES):
            access.value = pack(self.params.ram.access, {"valid": 1, "beat": k // BEAT_BYTES})
            await self.edge
            await self.edge
            content += int(accessed.value).to_bytes(BEAT_BYTES, "little")
        access.value = 0
        return content[:size]

    async def load(self, setup: WorkerSetup) -> None:
        """Lay a job out in memory; RunFailed if it is too small."""
        self.image = WorkerImage(self.params.endpoint, setup)
        for name, memory in (("tables", self.image.tables), ("data", self.image.data)):
            size, least = self.params.ram_bytes, len(memory.bytes)
            if least > size:
                raise RunFailed(
                    f"worker {self.port} needs {least:,} bytes in its memory of {name}, there are"
                    f" {size:,}"
                )
            await self.write(name, bytes(memory.bytes))

    async def start(
        self, setup: WorkerSetup, *, job: int, epoch: int, ready: int | None = None, **settings: int
    ) -> None:
        """Set the registers, and run a job that :meth:`load` has laid out."""
        numbers = {
            "own_address": int.from_bytes(self.address, "little"),
            "switch_address": int.from_bytes(SWITCH, "little"),
            "program": self.image.program,
        }
        await self.registers.write_wide(**numbers)
        fields = {
            "worker": 1 << self.port,
            "job": job,
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

    async def counters(self) -> Any:
        """All of them, by name."""
        found = {}
        for number in numbered():
            await self.registers.write(counter=number)
            found[number.name.lower()] = await self.registers.read("count")
        return SimpleNamespace(**found)

    async def ends(self, within: int = NEVER_ENDS) -> tuple[str, str]:
        """The state that the job ends in, and its cause; RunFailed if it takes so many cycles."""
        first = cycle()
        while (state := (await self.state("state"))) in ("RUNNING", "STOPPING"):
            if cycle() >= first + within:
                lo = await self.registers.read("lo")
                raise RunFailed(
                    f"worker {self.port} does not end in {within:,} cycles; turn {lo} is open"
                )
            for _ in range(POLL_CYCLES):
                await self.edge
        return state, await self.state("cause")

    async def state(self, name: str) -> str:
        """A register's value, which has a name."""
        value: Any = await self.registers.read(name)
        return value.name

    async def give(self, setup: WorkerSetup) -> None:
        """Write the payloads of a job that differs from the one laid out in nothing else."""
        for turn, address in enumerate(self.image.features):
            await self.write("data", self.image.payloads(setup, turn)[0], address)

    async def sums(self) -> Sums:
        """The sums in memory, by turn and aggregator; nothing else is looked at."""
        lanes, found = self.params.endpoint.lanes, {}
        for turn, address in enumerate(self.image.sums):
            for item in self.image.setup.share(turn).sums:
                inside = item * 4 * lanes % BEAT_BYTES
                first = address + item * 4 * lanes - inside
                content = await self.read("data", inside + 4 * lanes, first)
                found[turn, item] = np.frombuffer(content[inside:], "<i4")
        return found

    async def found(self) -> tuple[Sums, Sums]:
        """Sums and copies that are in memory."""
        size = len(self.image.first)
        return self.image.found(await self.read("data", size))
