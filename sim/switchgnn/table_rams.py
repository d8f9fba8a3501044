"""Simulates the memories of a switch's tables as RAMs that a host reaches beside their buses."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from amaranth.hdl import ClockDomain, ClockSignal, Const, DomainRenamer, Module, ResetSignal
from amaranth.lib.wiring import In, Out
from cocotb.triggers import RisingEdge

from hdl.switchgnn.switch.tables.table_memory_params import BEAT_BITS, BEAT_BYTES, TableMemoryParams
from sim.harness.payloads import pack
from sim.surroundings.axi_ram import AxiRam, AxiRamParams, ram_file

MAX_BYTES = 1 << 20  #: most bytes of a RAM; the addresses of a card's memory go further
NOBODY = 255  #: no RAM fails


def ram_params(params: TableMemoryParams) -> AxiRamParams:
    """Return the sizes of a RAM."""
    return AxiRamParams(address_bits=params.address_bits, data_bits=BEAT_BITS, processor=True)


def ram_bytes(params: TableMemoryParams) -> int:
    """Return the size of a RAM's file: all that its port can address, or what is needed."""
    return min(1 << params.address_bits, MAX_BYTES)


def ram_members(params: TableMemoryParams) -> dict[str, Any]:
    """List what drives the RAMs: how they are, which one fails, and the host's accesses."""
    ram = ram_params(params)
    return {
        "ram_settings": In(ram.settings),
        "ram_fails": In(8),
        "ram_access": In(ram.access).array(params.ports),
    }


def add_rams(
    m: Module, params: TableMemoryParams, outer: Any, buses: Sequence[Any], *, first: int = 0
) -> None:
    """Put a RAM behind each bus, the ``first`` of which has that number in the simulation.

    No reset reaches them: what they owe, they answer all the same.
    """
    m.domains += ClockDomain("ram", local=True)
    m.d.comb += [ClockSignal("ram").eq(ClockSignal("sync")), ResetSignal("ram").eq(Const(0, 1))]
    for k, bus in enumerate(buses):
        ram: Any = AxiRam(ram_params(params))
        m.submodules[f"ram_{k}"] = DomainRenamer("ram")(ram)
        for signal, member in bus.signature.members.items():
            near, far = getattr(ram.axi, signal), getattr(bus, signal)
            m.d.comb += near.eq(far) if member.flow is Out else far.eq(near)
        m.d.comb += [
            ram.index.eq(first + k),
            ram.settings.eq(outer.ram_settings),
            ram.settings.fail_read.eq(outer.ram_settings.fail_read & (outer.ram_fails == k)),
            ram.access.eq(outer.ram_access[k]),
        ]


def empty_rams(params: TableMemoryParams, folder: Path, *, first: int = 0) -> list[str]:
    """Return arguments of a simulation whose RAMs hold zeros at first, which takes a file."""
    empty = folder / "no_tables.bin"
    with empty.open("wb") as file:
        file.truncate(ram_bytes(params))
    return [ram_file(first + k, empty) for k in range(params.ports)]


class TableRams:
    """Gives a host access to the memories of tables, a beat of each port a cycle."""

    def __init__(self, dut: Any, params: TableMemoryParams) -> None:
        self.dut, self.params, self.edge = dut, params, RisingEdge(dut.clk)
        self.ram = ram_params(params)
        self.accesses = [getattr(dut, f"ram_access_{k}") for k in range(params.ports)]
        for access in self.accesses:
            access.value = 0
        self.set()

    @property
    def lines(self) -> int:
        """Return the number of beats of a RAM."""
        return ram_bytes(self.params) // BEAT_BYTES

    def rows(self, bits: int) -> int:
        """Return how many rows of ``bits`` bits a table can hold: each has half of all RAMs."""
        return self.lines // 2 * self.params.ports * (BEAT_BITS // bits)

    def set(self, fails: int = NOBODY, **settings: int) -> None:
        """Set how all RAMs behave, and which one fails."""
        self.dut.ram_fails.value = fails
        self.dut.ram_settings.value = pack(self.ram.settings, {"read_latency": 20} | settings)

    async def write(self, line: int, row: int, rows: Iterable[int], bits: int) -> None:
        """Write rows of ``bits`` bits of the table that begins at ``line``, from ``row`` on."""
        a_beat = BEAT_BITS // bits
        beats: dict[int, tuple[int, int]] = {}
        for at, value in enumerate(rows, row):
            number, place = divmod(at, a_beat)
            data, strobes = beats.get(number, (0, 0))
            mask = (1 << bits // 8) - 1
            beats[number] = data | value << bits * place, strobes | mask << bits // 8 * place
        await self.write_beats(line, beats)

    async def write_beats(self, line: int, beats: Mapping[int, tuple[int, int]]) -> None:
        """Write beats of a table, by number: their data, and which bytes of it."""
        queues: list[list[dict[str, int]]] = [[] for _ in self.accesses]
        for number, (data, strobes) in beats.items():
            behind, port = divmod(number, self.params.ports)
            if line + behind >= self.lines:
                raise ValueError(f"beat {number} of a table from {line} on is beyond the memory")
            beat = {"valid": 1, "beat": line + behind, "strobes": strobes, "data": data}
            queues[port].append(beat)
        for k in range(max(map(len, queues), default=0)):
            for access, queue in zip(self.accesses, queues, strict=True):
                access.value = pack(self.ram.access, queue[k]) if k < len(queue) else 0
            await self.edge
        for access in self.accesses:
            access.value = 0
