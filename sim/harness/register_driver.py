"""Drives a register map as a host does: by the generated Python driver, on a simulated bus."""

from collections.abc import Collection, Iterable
from itertools import chain
from logging import WARNING, getLogger
from typing import Any

from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from gen.base.registers.python_driver import driver_of
from hdl.common.event_counters import CountersParams
from hdl.common.registers import WORD_BYTES, RegisterMap


class BusError(RuntimeError):
    """Reports that the hardware refused an access."""


def quiet(dut: Any, bus: str) -> None:
    """Silence the log of a bus, which would show every access."""
    getLogger(f"cocotb.{dut._name}.{bus}").setLevel(WARNING)


class RegisterDriver:
    """Writes and reads fields over a bus of a simulated design.

    ``bus`` is an AXI4-Lite bus of ``dut``'s by its name, or what writes and reads as the master of
    one does. What the fields are as words is decided by the driver that users get with a design;
    here the words only go over the bus.
    """

    def __init__(self, dut: Any, bus: Any, map: RegisterMap) -> None:
        self.dut, self.map, self.axil = dut, map, bus
        if isinstance(bus, str):
            self.axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, bus), dut.clk, dut.rst)
            quiet(dut, bus)
        self.registers: Any = driver_of(map)

    def _register(self, address: int) -> str:
        return next(placed.register.name for placed in self.map.placed if placed.address == address)

    async def write(self, **fields: int) -> None:
        """Set fields; other fields of the same registers keep what was written before."""
        for address, word in self.registers.writes(**fields):
            answer: Any = await self.axil.write(address, word.to_bytes(WORD_BYTES, "little"))
            if answer.resp != AxiResp.OKAY:
                name = self._register(address)
                raise BusError(f"writing {name} answered {answer.resp.name}")

    async def write_wide(self, **numbers: int) -> None:
        """Set numbers that two registers hold, by their names without _low and _high."""
        for name, number in numbers.items():
            await self.write(**{f"{name}_low": number & 0xFFFFFFFF, f"{name}_high": number >> 32})

    async def read(self, name: str) -> int:
        """Read a field; return its value, or the name that the value has."""
        return (await self.read_all([name]))[name]

    async def read_all(self, names: Iterable[str]) -> dict[str, int]:
        """Read fields whose registers lie one behind the other, in one transfer."""
        places = {name: self.registers.reads(name) for name in names}
        first, *_, last = [*chain(*places.values())] * 2
        answer: Any = await self.axil.read(first, last + WORD_BYTES - first)
        if answer.resp != AxiResp.OKAY:
            raise BusError(f"reading {self._register(first)} answered {answer.resp.name}")
        words = dict(
            zip(range(first, last + 1, WORD_BYTES), memoryview(answer.data).cast("I"), strict=True)
        )
        return {
            name: self.registers.decode(name, [words[address] for address in addresses])
            for name, addresses in places.items()
        }

    async def counted(
        self, kind: str, counters: CountersParams, *, names: Collection[str] = (), wait: int = 0
    ) -> dict[str, int]:
        """Return the counters of a set by name, all of them or those of ``names``.

        Each is chosen by its number in ``KIND_counter`` and shown ``wait`` cycles later in
        ``KIND_count``.
        """
        counts = {}
        for number, (name, _) in enumerate(counters.counters):
            if not names or name in names:
                await self.write(**{f"{kind}_counter": number})
                if wait:
                    await ClockCycles(self.dut.clk, wait)
                counts[name] = await self.read(f"{kind}_count")
        return counts
