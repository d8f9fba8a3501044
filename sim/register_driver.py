"""A host's driver of a register map: registers by the names of their fields."""

from logging import WARNING, getLogger
from typing import Any

from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from hdl.common.registers import WORD_BYTES, Field, Register, RegisterMap


class BusError(RuntimeError):
    """The hardware refused an access."""


def quiet(dut: Any, bus: str) -> None:
    """Or every access is logged in full."""
    getLogger(f"cocotb.{dut._name}.{bus}").setLevel(WARNING)


class RegisterDriver:
    """Writes and reads fields over an AXI4-Lite bus of a simulated design."""

    def __init__(self, dut: Any, bus: str, map: RegisterMap) -> None:
        self.dut, self.map = dut, map
        self.axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, bus), dut.clk, dut.rst)
        quiet(dut, bus)
        self._written = {
            field.name: field.init
            for register in map.registers
            for field in register.fields
            if field.access == "rw"
        }

    def find(self, name: str) -> tuple[int, Register, Field, int]:
        """Address, register, field and offset of the field called ``name``."""
        for address, register in self.map.placed:
            for field, offset in zip(register.fields, register.offsets, strict=True):
                if field.name == name:
                    return address, register, field, offset
        raise KeyError(f"no field is called {name}")

    async def write(self, **fields: int) -> None:
        """Set fields; others of the same registers keep what was written before."""
        words: dict[int, Register] = {}
        pulses: dict[str, int] = {}
        for name, value in fields.items():
            address, register, field, _ = self.find(name)
            words[address] = register
            (pulses if field.access == "pulse" else self._written)[name] = int(value)
        for address, register in words.items():
            word = 0
            for field, offset in zip(register.fields, register.offsets, strict=True):
                value = pulses.get(field.name, self._written.get(field.name, 0))
                word |= (value & ((1 << field.bits) - 1)) << offset
            answer: Any = await self.axil.write(address, word.to_bytes(WORD_BYTES, "little"))
            if answer.resp != AxiResp.OKAY:
                raise BusError(f"writing {register.name} answered {answer.resp.name}")

    async def read(self, name: str) -> int:
        """The value of a field."""
        address, register, field, offset = self.find(name)
        answer: Any = await self.axil.read(address, register.words * WORD_BYTES)
        if answer.resp != AxiResp.OKAY:
            raise BusError(f"reading {register.name} answered {answer.resp.name}")
        word = int.from_bytes(answer.data, "little")
        return word >> offset & ((1 << field.bits) - 1)
