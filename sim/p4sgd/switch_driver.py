"""A host's driver of a switch: jobs, addresses and counters."""

from typing import Any

from cocotb.triggers import ClockCycles

from hdl.p4sgd.switch.params import SwitchParams, Verdict
from hdl.p4sgd.switch.registers import switch_registers
from hdl.switch.params import Refusal
from hdl.switch.port_counters import PORT_COUNTERS
from sim.harness.register_driver import RegisterDriver

POLL_CYCLES = 32  #: between two looks at what takes longer


class CommandRefused(RuntimeError):
    """A command had no effect; ``reason`` says why."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(f"the switch refused the command: {reason.name}")
        self.reason = reason


class SwitchDriver(RegisterDriver):
    """Drives the register bus of a simulated switch."""

    def __init__(self, dut: Any, params: SwitchParams, bus: Any = "s_axil") -> None:
        super().__init__(dut, bus, switch_registers(params))
        self.params = params

    async def set_addresses(self, switch: bytes, group: bytes) -> None:
        """The switch's own address and the one that answers go to, six bytes each."""
        for name, address in (("switch", switch), ("group", group)):
            number = int.from_bytes(address, "little")
            await self.write(
                **{
                    f"{name}_address_low": number & 0xFFFFFFFF,
                    f"{name}_address_high": number >> 32,
                }
            )

    async def settled(self) -> None:
        """Wait until no job is being started and verdicts are counted."""
        while await self.read("busy") or await self.read("clearing_counters"):
            await ClockCycles(self.dut.clk, POLL_CYCLES)

    async def start_job(
        self, job: int, *, ports: int, epoch: int, base: int, slots: int, wait: bool = True
    ) -> None:
        """Start a job of the workers in ``ports``; :class:`CommandRefused` if it is not started.

        Without ``wait`` the slots are still being cleared, and a refusal is not seen.
        """
        await self.write(job_number=job, job_epoch=epoch)
        await self.write(job_ports=ports)
        await self.write(job_base=base)
        await self.write(job_slots=slots)
        await self.write(start_job=1)
        if wait:
            await self.settled()
            await self.check()

    async def stop_job(self, job: int) -> None:
        """Stop a job; :class:`CommandRefused` if another one is being started."""
        if await self.read("busy"):  # its number must hold still
            raise CommandRefused(Refusal.BUSY)
        await self.write(job_number=job)
        await self.write(stop_job=1)
        await self.check()

    async def check(self) -> None:
        """Raise :class:`CommandRefused` if the last command was refused."""
        if await self.read("refused"):
            raise CommandRefused(Refusal(await self.read("reason")))

    async def clear_counters(self) -> None:
        """Set all counters to zero."""
        await self.write(clear_counters=1)
        await self.settled()

    async def verdicts(self) -> dict[int, dict[str, int]]:
        """Packets by port and by the name of what became of them."""
        counts: dict[int, dict[str, int]] = {}
        for port in range(self.params.ports):
            counts[port] = {}
            for verdict in Verdict:
                if verdict is not Verdict.NONE:
                    await self.write(counter_port=port, counter_verdict=verdict.value)
                    counts[port][verdict.name] = await self.read("counter_value")
        return counts

    async def port_counters(self) -> dict[int, dict[str, int]]:
        """What was lost and what was sent, by port."""
        counts = {}
        for port in range(self.params.ports):
            await self.write(counter_port=port)
            counts[port] = {name: await self.read(name) for name in PORT_COUNTERS}
        return counts
