"""Drives a SNIC as a host does: partition, work requests, completions, counters."""

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

from cocotb.triggers import ClockCycles

from hdl.netsparse.params import SnicParams
from hdl.netsparse.registers import snic_registers
from hdl.netsparse.rig.params import Cause
from hdl.netsparse.snic_counters import SNIC_COUNTERS, UNIT_COUNTERS
from sim.harness.register_driver import RegisterDriver
from sim.netsparse.retry import ATTEMPTS, carry_out
from sim.netsparse.work_request import Completion, WorkRequest

POLL_CYCLES = 32  #: cycles between two polls of a register
COUNTER_CYCLES = 4  #: cycles until a counter is shown that was chosen
REST_POLLS = 65_536  #: polls until units that do not come to rest are given up


class RequestRefused(RuntimeError):
    """Reports that a unit did not take a work request: its queue is full, or it is no client."""


class NotAtRest(RuntimeError):
    """Reports that units went on working for too long: what they wait for never comes."""


class SnicDriver(RegisterDriver):
    """Drives the register bus of a simulated SNIC."""

    def __init__(self, dut: Any, params: SnicParams, bus: Any = "s_axil") -> None:
        super().__init__(dut, bus, snic_registers(params))
        self.params = params

    async def set_partition(self, node: int, boundaries: Sequence[int]) -> None:
        """Make this ``node``; node k owns idxs boundaries[k] to below boundaries[k + 1]."""
        nodes = len(boundaries) - 1
        await self.write(node=node, mac_base_low=0, mac_base_high=0x0200, ip_base=0x0A000000)
        await self.write_wide(
            first=boundaries[node], end=boundaries[node + 1], columns=boundaries[-1]
        )
        for other in range(self.params.rig.nodes):
            await self.write_wide(boundary=boundaries[min(other, nodes)])
            await self.write(boundary_node=other, write_boundary=1)

    async def clear_filter(self) -> None:
        """Make all bits of the idx filter zero, and wait until they are.

        It holds the properties of one array, so it is cleared, at rest, before a gather of another.
        ValueError if the SNIC cannot have its filter at ``filter_address``.
        """
        if await self.read("filter_illegal"):
            raise ValueError("filter_address must be a multiple of 64 in SNIC memory")
        await self.write(clear_filter=1)
        while await self.read("filter_busy"):
            await ClockCycles(self.dut.clk, POLL_CYCLES)

    async def submit(self, unit: int, request: WorkRequest) -> None:
        """Give a work request to a client unit; raise :class:`RequestRefused` if it is refused."""
        await self.write(
            request_unit=unit, request_tag=request.tag, idx_wide=request.idx_bytes == 8
        )
        await self.write_wide(
            idx_address=request.idx_address, property_address=request.property_address
        )
        await self.write(
            idx_count=request.count,
            property_bytes=request.property_bytes,
            watchdog=request.watchdog,
        )
        await self.write(submit=1)
        if await self.read("refused"):
            raise RequestRefused(f"unit {unit} did not take request {request.tag}")

    async def completion(self) -> Completion:
        """Return the oldest completion, if there is one (see the interrupt)."""
        unit = await self.read("completion_unit")
        tag = await self.read("completion_tag")
        cause = Cause(await self.read("completion_cause"))
        await self.write(next_completion=1)
        return Completion(unit, tag, cause)

    async def next_completion(self, interrupts: Any, index: int) -> Completion:
        """Wait for a completion; bit ``index`` of ``interrupts`` is the SNIC's line."""
        while True:
            if not int(interrupts.value) >> index & 1:
                await interrupts.value_change
            # The line may still be high for a completion that was dropped just now.
            elif await self.read("completion_valid"):
                return await self.completion()

    async def at_rest(self) -> None:
        """Wait until no unit works and no PR waits to be sent."""
        while await self.read("busy_units") or await self.read("concatenating"):
            await ClockCycles(self.dut.clk, POLL_CYCLES)

    async def clients_at_rest(self) -> None:
        """Wait until no client works, whatever servers do; raise :class:`NotAtRest` if late."""
        clients = ~await self.read("server_units")
        for _ in range(REST_POLLS):
            if not await self.read("busy_units") & clients:
                return
            await ClockCycles(self.dut.clk, POLL_CYCLES)
        raise NotAtRest("clients go on working, and nothing of theirs is under way")

    async def clear_filter_at_rest(self) -> None:
        """Make all bits of the idx filter zero once no client works, see :meth:`clear_filter`."""
        await self.clients_at_rest()
        await self.clear_filter()

    async def unit_counters(self, unit: int, names: Collection[str] = ()) -> dict[str, int]:
        """Return the counters of a unit by name, all of them or those of ``names``."""
        await self.write(counter_unit=unit)
        return await self.counted("unit", UNIT_COUNTERS, names=names, wait=COUNTER_CYCLES)

    async def counters(self, names: Collection[str] = ()) -> dict[str, int]:
        """Return the counters of the SNIC by name, all of them or those of ``names``."""
        return await self.counted("snic", SNIC_COUNTERS, names=names, wait=COUNTER_CYCLES)

    async def run(
        self, requests: Sequence[Sequence[WorkRequest]], interrupts: Any, index: int = 0
    ) -> list[Completion]:
        """Carry out each client's ``requests``, a queue by unit; return the completions as they
        came.

        Bit ``index`` of ``interrupts`` is the SNIC's line. A unit has as many requests at a time
        as its queue holds.
        """
        queues = {unit: deque(queue) for unit, queue in enumerate(requests)}
        under_way = 0
        completions: list[Completion] = []
        for _ in range(self.params.rig.commands):
            for unit, queue in queues.items():
                if queue:
                    await self.submit(unit, queue.popleft())
                    under_way += 1
        while under_way:
            done = await self.next_completion(interrupts, index)
            completions.append(done)
            under_way -= 1
            if queues[done.unit]:
                await self.submit(done.unit, queues[done.unit].popleft())
                under_way += 1
        return completions

    async def gather(
        self,
        requests: Sequence[Sequence[WorkRequest]],
        interrupts: Any,
        index: int = 0,
        attempts: int = ATTEMPTS,
    ) -> list[Completion]:
        """Carry out ``requests`` as :meth:`run` does; repeat those that a lost packet stopped."""
        return await carry_out(
            lambda left: self.run(left, interrupts, index),
            self.clear_filter_at_rest,
            requests,
            attempts,
        )
