"""Drives a gather engine as a host does, in a slot of a root complex that others wrote."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import MemoryRegion

from hdl.gather.engine_params import COMPLETION, COMPLETION_BYTES
from sim.gather.engine_side import engine_side
from sim.gather.golden.engine import WorkRequest
from sim.gather.host.request import Request, Table
from sim.gather.surroundings.card_system import CardParams
from sim.harness.host_device import HostMemory
from sim.harness.host_program import HostProgram
from sim.harness.payloads import unpack
from sim.surroundings.pcie_host import BarMaster, HostModel

BAR, BAR_BYTES = 0, 4096
POLL_CYCLES = 50
MAX_CREDITS = 15
INTERRUPT_CYCLES = 4  #: cycles until the block says that it has sent an interrupt
NO_ORDER = "FOURTH"  #: name of the order of reads that there is not


class CardDriver:
    """Writes a host's memory, submits work requests, waits for their completions.

    Addresses of a :class:`sim.gather.golden.engine.WorkRequest` count from where the host's memory
    for the engine begins. ``interrupts`` counts those that the card has asked for. A card
    ``beside`` another is in the next slot of that one's host, with the same memory.
    """

    def __init__(
        self,
        dut: Any,
        params: CardParams,
        host: bytes | MemoryRegion = b"",
        beside: "CardDriver | None" = None,
    ) -> None:
        self.dut, self.params = dut, params
        self.interrupts = 0
        self.sends_interrupts = True  # else the block keeps what it is asked to send
        dut.credits.value = MAX_CREDITS
        dut.msix_enable.value = 1
        dut.msix_sent.value = dut.msix_failed.value = 0
        dut.settings.value = dut.access.value = dut.dump.value = 0
        dut.function_in_process.value = dut.function_master.value = 0
        self.model = HostModel(
            dut,
            *("rq", "rc", "cq", "cc"),
            bars=[(BAR, BAR_BYTES)],
            beside=beside and beside.model,
            max_payload_size=1024,
        )
        if beside:
            self.memory, self.base = beside.memory, beside.base
        else:
            self.memory, self.base = self.model.memory(host)
        self.registers: Any = None
        cocotb.start_soon(self.answer_interrupts())

    async def begin(self, read_size: int = 2, payload: int = 1) -> None:
        """Let the host find the card; sizes are codes of the largest: 128 bytes << code."""
        self.dut.limit.value = read_size
        if self.params.engine.to_host:
            self.dut.payload_limit.value = payload
        result = await self.model.begin(read_size, payload)
        self.dut.function_master.value = 1
        self.drive(BarMaster(result.bar_window[BAR]))

    async def answer_interrupts(self) -> None:
        """Say of each interrupt, some cycles later, that the block has sent it."""
        while True:
            await RisingEdge(self.dut.msix_send)
            self.interrupts += 1
            await ClockCycles(self.dut.clk, INTERRUPT_CYCLES)
            while not self.sends_interrupts:
                await RisingEdge(self.dut.clk)
            self.dut.msix_sent.value = 1
            await RisingEdge(self.dut.clk)
            self.dut.msix_sent.value = 0

    def host(self) -> np.ndarray:
        """Return the host's memory as it is, uint8."""
        return np.frombuffer(bytes(self.memory.mem[:]), np.uint8)

    def drive(self, bar: Any) -> None:
        """Let the software that a user's host runs reach the card's registers by ``bar``."""
        side = engine_side(self.params.engine)
        build = {**side.build, "orders": (*side.build["orders"], NO_ORDER)}
        memory = HostMemory(self.memory, self.base)
        self.registers = HostProgram(self.dut, bar, replace(side, build=build), memory)

    async def submit(self, request: WorkRequest) -> None:
        """Put a work request into the engine's queue, be it legal and be there room or not."""
        await self.describe(request)
        await self.registers.write(submit=1)

    async def describe(self, request: WorkRequest) -> None:
        """Write what a work request asks for, which is submitted next."""
        await self.registers.describe(self.on_bus(request))
        if request.streamed:  # then the engine must not look at it, nor does the software write it
            await self.registers.write_wide(destination=request.destination)

    def on_bus(self, request: WorkRequest) -> Request:
        """Return a request as the host's software has it, with addresses on the card's bus."""
        table, fields = dict(vars(request.table)), dict(vars(request))
        table["address"] = self.base + table.pop("base")
        fields["completion"] = self.base + fields.pop("completion_address")
        if not request.on_card:
            fields["idx_address"] += self.base
        if request.posted:
            fields["destination"] += self.base
        order = self.registers.side.build["orders"][request.order]
        return Request(**fields | {"table": Table(**table), "order": order})

    async def completed(self, request: WorkRequest) -> dict[str, Any]:
        """Wait until host memory says what became of a request; return that."""
        place = request.completion_address
        while True:
            content = bytes(self.memory.mem[place : place + COMPLETION_BYTES])
            bits = int.from_bytes(content, "little")
            if bits >> COMPLETION["done"].offset & 1:  # the rest may be anything before
                return unpack(COMPLETION, bits)
            await ClockCycles(self.dut.clk, POLL_CYCLES)

    async def device(self, start: int, size: int) -> bytes:
        """Return bytes of device memory, which goes to the file that holds its dump."""
        for level in (1, 0):
            self.dut.dump.value = level
            await ClockCycles(self.dut.clk, 2)
        return Path(str(cocotb.plusargs["dump_0"])).read_bytes()[start : start + size]

    async def counters(self) -> dict[str, int]:
        """Return all counters."""
        return await self.registers.counters()
