"""Drives a simulated worker by the software that a user's host runs, and sleeps while it works."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from numpy.typing import NDArray

from hdl.p4sgd.host.control import START_CYCLES
from hdl.p4sgd.host.counters import COUNTERS
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.axi_master import CompiledMaster
from sim.harness.host_device import BusMemory
from sim.harness.host_program import HostProgram
from sim.p4sgd.worker_side import worker_side
from sim.workloads.layout import model_images

NO_CARD: Mapping[str, Any] = MappingProxyType({})


class WorkerDriver(HostProgram):
    """Drives ``s_axil`` and ``s_axi_model`` of a simulated worker, or a card through ``bar``.

    A card's ``memory`` is all that its DMA reaches, and ``card`` says what lies where there.
    """

    def __init__(
        self,
        dut: Any,
        params: WorkerParams,
        suffix: str = "",
        bar: Any = None,
        memory: Any = None,
        card: Mapping[str, Any] = NO_CARD,
    ) -> None:
        side = worker_side(params, **card)
        if memory is None:  # of that a simulation has the weights alone
            weights = CompiledMaster(dut, f"s_axi_model{suffix}")
            memory = BusMemory(weights, side.build["model"])
            self.busy = getattr(dut, f"busy{suffix}")
        super().__init__(dut, bar or f"s_axil{suffix}", side, memory)
        self.memory, self.params = memory, params

    async def counters(self) -> dict[str, int]:
        """Read all counters of the worker, by their names."""
        return await self.read_all(COUNTERS)

    async def train(self) -> None:
        """Start a run and wait for its end; raise ``WorkerStopped`` if it fails."""
        await self.write(start=1)
        await ClockCycles(self.dut.clk, START_CYCLES)
        await self.wait()

    async def wait(self) -> None:
        """Wait for the end of a run, asleep; raise ``WorkerStopped`` if it failed."""
        if self.busy.value:
            await FallingEdge(self.busy)
            await RisingEdge(self.dut.clk)
        await self.check()

    def model_address(self, engine: int, chunk: int = 0) -> int:
        """Return the address of an engine's chunk, from that of the weights on."""
        build = self.side.build
        return engine * build["engine_stride"] + chunk * build["chunk_stride"]

    async def load(self, model: NDArray[np.int32]) -> None:
        """Load weights [engines, chunks, lanes]."""
        build = self.side.build
        for engine, image in enumerate(model_images(model, build["chunk_stride"])):
            await self.memory.write_memory(build["model"] + self.model_address(engine), image)
