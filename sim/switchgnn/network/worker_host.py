"""Drives a worker as its host: it lays a job out in its endpoint's memories, and runs it."""

from collections.abc import Collection, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from cocotb.triggers import RisingEdge, Timer

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.endpoint.registers import Counter, endpoint_registers
from sim.harness.clock import PERIOD_NS
from sim.harness.payloads import pack
from sim.harness.register_driver import RegisterDriver
from sim.harness.session import RunFailed
from sim.harness.streams import cycle
from sim.switchgnn.golden.worker_rule import WorkerSetup
from sim.switchgnn.network.cluster import RAMS, ClusterParams
from sim.switchgnn.network.worker_image import Sums, WorkerImage

SWITCH = bytes.fromhex("02000000ff01")  #: the switch's address
NEVER_ENDS = 2_000_000  #: cycles after which a run counts as stuck
POLL_CYCLES = 100  #: cycles between two polls of a job's state


def own_address(port: int) -> bytes:
    """Return the Ethernet address of the endpoint at a port."""
    return bytes.fromhex("020000000a") + bytes([port])


class WorkerHost:
    """Drives an endpoint in a simulation of :class:`sim.switchgnn.network.cluster.Cluster`.

    It reaches the memories beside their buses, a beat a cycle.
    """

    image: WorkerImage  #: what :meth:`load` has written

    def __init__(self, dut: Any, port: int, params: ClusterParams) -> None:
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        registers = RegisterDriver(dut, f"axil_{port}", endpoint_registers(params.endpoint))
        self.use(registers, port, params)
        for name in RAMS:
            getattr(dut, f"{name}_access_{port}").value = 0
            self.set(name)

    def use(self, registers: RegisterDriver, port: int, params: ClusterParams) -> None:
        """Drive an endpoint at a port of the switch by its registers."""
        self.registers, self.port, self.params = registers, port, params
        self.address = own_address(port)
        self.written: dict[str, int] = {}  #: fields of a job's registers

    def forget(self) -> None:
        """Assume that the endpoint was reset: the next job writes all registers."""
        self.written.clear()

    def set(self, name: str, **settings: int) -> None:
        """Set how the memory ``name`` behaves."""
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
        """Return this many bytes of a memory, from a beat's first on."""
        last = at // BEAT_BYTES + -(-size // BEAT_BYTES)
        return b"".join(await self.read_beats(name, range(at // BEAT_BYTES, last)))[:size]

    async def read_beats(self, name: str, beats: Sequence[int]) -> list[bytes]:
        """Return the beats of a memory with these numbers, one a cycle."""
        access = getattr(self.dut, f"{name}_access_{self.port}")
        accessed, found = getattr(self.dut, f"{name}_accessed_{self.port}"), []
        for place, beat in enumerate(beats):
            access.value = pack(self.params.ram.access, {"valid": 1, "beat": beat})
            await self.edge
            if place:  # what was asked for a cycle ago has come
                found.append(int(accessed.value).to_bytes(BEAT_BYTES, "little"))
        access.value = 0
        if beats:
            await self.edge
            found.append(int(accessed.value).to_bytes(BEAT_BYTES, "little"))
        return found

    async def load(self, setup: WorkerSetup) -> None:
        """Lay a job out in memory; raise RunFailed if the memory is too small."""
        await self.lay_out(WorkerImage(self.params.endpoint, setup))

    async def load_behind(self, setup: WorkerSetup, after: WorkerImage | None) -> None:
        """Lay a job out behind ``after``, which stays, with as little memory as it needs."""
        await self.lay_out(WorkerImage(self.params.endpoint, setup, after=after, compact=True))

    async def lay_out(self, image: WorkerImage) -> None:
        """Write an image, whose job runs from now on; raise RunFailed if it does not fit."""
        self.image = image
        for name, memory in (("tables", image.tables), ("data", image.data)):
            if memory.end > self.params.ram_bytes:
                raise RunFailed(
                    f"worker {self.port} needs {memory.end:,} bytes in its memory of {name}, there"
                    f" are {self.params.ram_bytes:,}"
                )
            await self.write(name, bytes(memory.bytes), memory.begin)

    async def start(
        self, setup: WorkerSetup, *, job: int, epoch: int, ready: int | None = None, **settings: int
    ) -> None:
        """Set the registers, and run a job that :meth:`load` has laid out.

        Registers that have their values from an earlier job are not written again.
        """
        numbers = {
            "own_address": int.from_bytes(self.address, "little"),
            "switch_address": int.from_bytes(SWITCH, "little"),
            "program": self.image.program,
        }
        fields = {
            **{f"{name}_low": number & 0xFFFFFFFF for name, number in numbers.items()},
            **{f"{name}_high": number >> 32 for name, number in numbers.items()},
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
        news = dict((fields | settings).items() - self.written.items())
        self.written |= news
        await self.registers.write(**news)
        await self.registers.write(start=1)

    async def counters(self, names: Collection[str] = ()) -> Any:
        """Read the counters of ``names``, or all; return them by name."""
        found = {}
        for number in Counter:
            name = number.name.lower()
            if not names or name in names:
                await self.registers.write(counter=number)
                found[name] = await self.registers.read("count")
        return SimpleNamespace(**found)

    async def ends(self, within: int = NEVER_ENDS) -> tuple[str, str]:
        """Wait for the job's end; return state and cause, or raise RunFailed if it is late."""
        first = cycle()
        while (state := (await self.state("state"))) in ("RUNNING", "STOPPING"):
            if cycle() >= first + within:
                lo = await self.registers.read("lo")
                raise RunFailed(
                    f"worker {self.port} does not end in {within:,} cycles; turn {lo} is open"
                )
            await Timer(POLL_CYCLES * PERIOD_NS, "ns")
        return state, await self.state("cause")

    async def state(self, name: str) -> str:
        """Return the name of a register's value."""
        value: Any = await self.registers.read(name)
        return value.name

    async def give(self, setup: WorkerSetup) -> None:
        """Write the payloads of a job that differs from the one laid out in nothing else."""
        for turn, address in enumerate(self.image.features):
            await self.write("data", self.image.payloads(setup, turn)[0], address)

    async def sums(self) -> Sums:
        """Return the sums in memory, by turn and aggregator; the rest is not checked."""
        size, wanted = 4 * self.params.endpoint.lanes, {}
        for turn, address in enumerate(self.image.sums):
            for item in self.image.setup.share(turn).sums:
                wanted[turn, item] = address + item * size
        beats = sorted(
            {
                beat
                for first in wanted.values()
                for beat in range(first // BEAT_BYTES, -(-(first + size) // BEAT_BYTES))
            }
        )
        read = dict(zip(beats, await self.read_beats("data", beats), strict=True))
        found = {}
        for item, first in wanted.items():
            last = -(-(first + size) // BEAT_BYTES)
            content = b"".join(read[beat] for beat in range(first // BEAT_BYTES, last))
            inside = first % BEAT_BYTES
            found[item] = np.frombuffer(content[inside : inside + size], "<i4")
        return found

    async def found(self) -> tuple[Sums, Sums]:
        """Return the sums and copies that are in memory."""
        size = len(self.image.first)
        return self.image.found(await self.read("data", size))
