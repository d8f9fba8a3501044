"""A host's driver of a worker: registers by the names of their fields, weights as arrays."""

from logging import WARNING, getLogger
from typing import Any

import numpy as np
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiMaster, AxiResp
from numpy.typing import NDArray

from hdl.common.registers import WORD_BYTES, Field, Register
from hdl.p4sgd.control import Cause
from hdl.p4sgd.counters import COUNTERS
from hdl.p4sgd.model_address import group_address, model_bus
from hdl.p4sgd.params import WorkerParams
from hdl.p4sgd.registers import worker_registers

START_CYCLES = 4  #: from the answer to the write of ``start`` to ``busy``, at most


class WorkerFailure(RuntimeError):
    """A run stopped; ``cause`` says why."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(f"the worker stopped: {cause.name}")
        self.cause = cause


class BusError(RuntimeError):
    """The worker refused an access."""


class WorkerDriver:
    """Drives ``s_axil`` and ``s_axi_model`` of a simulated worker; asleep while it runs."""

    def __init__(self, dut: Any, params: WorkerParams) -> None:
        self.dut = dut
        self.params = params
        self.map = worker_registers(params)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self.model = AxiMaster(AxiBus.from_prefix(dut, "s_axi_model"), dut.clk, dut.rst)
        for bus in ("s_axil", "s_axi_model"):  # or every access is logged in full
            getLogger(f"cocotb.{dut._name}.{bus}").setLevel(WARNING)
        self._written = {
            field.name: field.init
            for register in self.map.registers
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
            answer: Any = await self.registers.write(address, word.to_bytes(WORD_BYTES, "little"))
            if answer.resp != AxiResp.OKAY:
                raise BusError(f"writing {register.name} answered {answer.resp.name}")

    async def read(self, name: str) -> int:
        """The value of a field."""
        address, register, field, offset = self.find(name)
        answer: Any = await self.registers.read(address, register.words * WORD_BYTES)
        if answer.resp != AxiResp.OKAY:
            raise BusError(f"reading {register.name} answered {answer.resp.name}")
        word = int.from_bytes(answer.data, "little")
        return word >> offset & ((1 << field.bits) - 1)

    async def counters(self) -> dict[str, int]:
        """All counters."""
        return {name: await self.read(name) for name in COUNTERS}

    async def run(self) -> None:
        """Start a run and wait for its end; :class:`WorkerFailure` if it fails."""
        await self.write(start=1)
        await ClockCycles(self.dut.clk, START_CYCLES)
        await self.wait()

    async def wait(self) -> None:
        """Wait for the end of a run, asleep; :class:`WorkerFailure` if it failed."""
        if self.dut.busy.value:
            await FallingEdge(self.dut.busy)
            await RisingEdge(self.dut.clk)
        if await self.read("failed"):
            raise WorkerFailure(Cause(await self.read("cause")))

    async def soft_reset(self) -> None:
        """Bring the worker back to idle."""
        await self.write(soft_reset=1)
        while await self.read("busy"):
            pass

    def model_address(self, engine: int, chunk: int = 0) -> int:
        """The byte address of an engine's chunk."""
        layout = group_address(self.params)
        index = engine << layout["engine"].offset | chunk << layout["chunk"].offset
        return index * model_bus(self.params).data_bits // 8

    async def load(self, model: NDArray[np.int32]) -> None:
        """Load weights [engines, chunks, lanes]."""
        for engine, weights in enumerate(model):
            data = np.ascontiguousarray(weights, dtype="<i4").tobytes()
            answer: Any = await self.model.write(self.model_address(engine), data)
            if answer.resp != AxiResp.OKAY:
                raise BusError(f"loading engine {engine} answered {answer.resp.name}")

    async def read_model(self, chunks: int) -> NDArray[np.int32]:
        """Read weights [engines, chunks, lanes] back."""
        lanes = self.params.engine.lanes
        models = []
        for engine in range(self.params.engines):
            answer: Any = await self.model.read(self.model_address(engine), chunks * lanes * 4)
            if answer.resp != AxiResp.OKAY:
                raise BusError(f"reading engine {engine} answered {answer.resp.name}")
            models.append(np.frombuffer(answer.data, dtype="<i4").reshape(chunks, lanes))
        return np.stack(models)
