"""Drives the registers that every switch with jobs has (:mod:`hdl.switch`), as a host does."""

from enum import Enum
from typing import Any, ClassVar

from cocotb.triggers import ClockCycles

from hdl.switch.params import Refusal
from sim.harness.register_driver import RegisterDriver

POLL_CYCLES = 32  #: cycles between two polls of a register


class CommandRefused(RuntimeError):
    """Reports a command without effect: the ``reason``, and the ``owner`` that is in the way."""

    def __init__(self, reason: Enum, owner: int | None = None) -> None:
        super().__init__(f"the switch refused the command: {reason.name}")
        self.reason, self.owner = reason, owner


class JobSwitchDriver(RegisterDriver):
    """Drives the register bus of a simulated switch: addresses, commands, verdicts."""

    verdict: type[Enum]  #: what becomes of a packet
    verdict_count: ClassVar[str]  #: the field that shows how many met the chosen one
    params: Any

    async def set_addresses(self, switch: bytes, group: bytes) -> None:
        """Set the switch's own address and the one that frames are sent to, six bytes each."""
        await self.write_wide(
            switch_address=int.from_bytes(switch, "little"),
            group_address=int.from_bytes(group, "little"),
        )

    async def settled(self) -> None:
        """Wait until no job is being started and verdicts are counted."""
        while await self.read("busy") or await self.read("clearing_counters"):
            await ClockCycles(self.dut.clk, POLL_CYCLES)

    async def check(self) -> None:
        """Raise :class:`CommandRefused` if the last command was refused."""
        if await self.read("refused"):
            raise CommandRefused(Refusal(await self.read("reason")))

    async def clear_counters(self) -> None:
        """Set all counters to zero."""
        await self.write(clear_counters=1)
        await self.settled()

    async def verdicts(self) -> dict[int, dict[str, int]]:
        """Read the packets that met each verdict, by port and by the verdict's name."""
        counts: dict[int, dict[str, int]] = {}
        for port in range(self.params.ports):
            counts[port] = {}
            for verdict in self.verdict:
                if verdict.name != "NONE":
                    await self.write(counter_port=port, counter_verdict=verdict.value)
                    counts[port][verdict.name] = await self.read(self.verdict_count)
        return counts
