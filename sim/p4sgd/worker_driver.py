"""Drives a worker as a host: registers by the names of their fields, weights as arrays."""

from typing import Any

import numpy as np
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from cocotbext.axi import AxiResp
from numpy.typing import NDArray

from hdl.p4sgd.host.control import START_CYCLES, Cause
from hdl.p4sgd.host.counters import COUNTERS
from hdl.p4sgd.host.model_address import group_address, model_bus
from hdl.p4sgd.host.registers import worker_registers
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.axi_master import CompiledMaster
from sim.harness.register_driver import BusError, RegisterDriver


class WorkerFailure(RuntimeError):
    """Says that a run stopped; ``cause`` says why."""

    def __init__(self, cause: Cause, where: str = "") -> None:
        super().__init__(f"the worker stopped: {cause.name}{where}")
        self.cause = cause


class WorkerDriver(RegisterDriver):
    """Drives ``s_axil`` and ``s_axi_model`` of a simulated worker; asleep while it runs."""

    def __init__(self, dut: Any, params: WorkerParams, suffix: str = "") -> None:
        super().__init__(dut, CompiledMaster(dut, f"s_axil{suffix}"), worker_registers(params))
        self.params = params
        self.model = CompiledMaster(dut, f"s_axi_model{suffix}")
        self.busy = getattr(dut, f"busy{suffix}")

    async def counters(self) -> dict[str, int]:
        """Read all counters of the worker, by their names."""
        return await self.read_all(COUNTERS)

    async def start_job(self, **settings: int) -> None:
        """Begin a job on the network; ``settings`` are the fields of ``NETWORK_SETTINGS``."""
        fields = {}
        for name, value in settings.items():
            if name.endswith("address"):
                fields |= {f"{name}_low": value & 0xFFFF_FFFF, f"{name}_high": value >> 32}
            else:
                fields[name] = value
        await self.write(**fields)
        await self.write(start_job=1)
        while not await self.read("job_open"):
            pass

    async def run(self) -> None:
        """Start a run and wait for its end; raise :class:`WorkerFailure` if it fails."""
        await self.write(start=1)
        await ClockCycles(self.dut.clk, START_CYCLES)
        await self.wait()

    async def wait(self) -> None:
        """Wait for the end of a run, asleep; raise :class:`WorkerFailure` if it failed."""
        if self.busy.value:
            await FallingEdge(self.busy)
            await RisingEdge(self.dut.clk)
        await self.check()

    async def check(self) -> None:
        """Raise :class:`WorkerFailure` if the last run failed."""
        if await self.read("failed"):
            cause = Cause(await self.read("cause"))
            where = ""
            if cause is Cause.NETWORK:
                slot, again = await self.read("stuck_slot"), await self.read("retries")
                where = f", slot {slot} got no answer to {again} repetitions"
            elif cause is Cause.PEERS:
                slot, again = await self.read("stuck_slot"), await self.read("peer_retries")
                where = f", slot {slot} waited for other workers for {again} repetitions"
            elif cause in (Cause.MEMORY_BEATS, Cause.MEMORY_SILENT):
                broken = await self.read("broken_ports")
                where = f", broken memory ports: {[k for k in range(32) if broken >> k & 1]}"
            raise WorkerFailure(cause, where)

    async def soft_reset(self) -> None:
        """Reset the worker by a soft reset, so that it is idle."""
        await self.write(soft_reset=1)
        while await self.read("busy"):
            pass

    def model_address(self, engine: int, chunk: int = 0) -> int:
        """Return the byte address of an engine's chunk."""
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
