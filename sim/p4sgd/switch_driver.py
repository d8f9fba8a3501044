"""Drives a switch as a host: jobs, addresses and counters."""

from typing import Any

from hdl.p4sgd.switch.params import SwitchParams, Verdict
from hdl.p4sgd.switch.registers import switch_registers
from hdl.switch.params import Refusal
from hdl.switch.port_counters import PORT_COUNTERS
from sim.harness.switch_driver import CommandRefused, JobSwitchDriver


class SwitchDriver(JobSwitchDriver):
    """Drives the register bus of a simulated switch."""

    verdict, verdict_count = Verdict, "counter_value"

    def __init__(self, dut: Any, params: SwitchParams, bus: Any = "s_axil") -> None:
        super().__init__(dut, bus, switch_registers(params))
        self.params = params

    async def start_job(
        self, job: int, *, ports: int, epoch: int, base: int, slots: int, wait: bool = True
    ) -> None:
        """Start a job of the workers in ``ports``; raise :class:`CommandRefused` if it is refused.

        Without ``wait`` it returns while the slots are still being cleared, and a refusal is not
        seen.
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
        """Stop a job; raise :class:`CommandRefused` if another one is being started."""
        if await self.read("busy"):  # the number of the job that is being started must hold still
            raise CommandRefused(Refusal.BUSY)
        await self.write(job_number=job)
        await self.write(stop_job=1)
        await self.check()

    async def port_counters(self) -> dict[int, dict[str, int]]:
        """Read what was lost and what was sent, by port."""
        counts = {}
        for port in range(self.params.ports):
            await self.write(counter_port=port)
            counts[port] = {name: await self.read(name) for name in PORT_COUNTERS}
        return counts
