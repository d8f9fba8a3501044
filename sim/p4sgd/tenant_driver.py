"""Drives a switch whose jobs are tenants, as a host: grants, and the counters of each job."""

from enum import Enum
from typing import Any

from hdl.common.counter_banks import CounterBanks
from hdl.p4sgd.switch.tenant_params import TenantSwitchParams, TenantVerdict
from hdl.switch.control_port import CONTROL_COUNTERS
from hdl.switch.tenancy_head import Reason, TenancyKind
from hdl.switch.tenant_counters import TENANT_COUNTERS
from sim.harness.switch_driver import CommandRefused
from sim.p4sgd.switch_driver import SwitchDriver


class TenantRefused(CommandRefused):
    """Says that a switch of tenants refuses a command; ``owner_epoch`` is the grant in the way."""

    def __init__(self, reason: Enum, owner: int, owner_epoch: int) -> None:
        super().__init__(reason, owner)
        self.owner_epoch = owner_epoch


class TenantDriver(SwitchDriver):
    """Drives the register bus of a simulated switch of tenants.

    Each command raises :class:`TenantRefused` if it had no effect.
    """

    verdict = TenantVerdict

    def __init__(self, dut: Any, params: TenantSwitchParams, bus: Any = "s_axil") -> None:
        super().__init__(dut, params, bus)

    async def share(self, *, most: int, apart: bool) -> None:
        """Let at most ``most`` jobs hold the switch at a time, or any whose ports are ``apart``."""
        await self.write(most_granted=most, ports_apart=int(apart))

    async def open_ports(self, ports: int) -> None:
        """Let the ports of a bitmap take frames with commands, and no others."""
        await self.write(control_ports=ports)

    async def set_parents(self, address: bytes, place: int) -> None:
        """Set the address of the switches above, and which child of theirs this switch is."""
        await self.write_wide(parent_address=int.from_bytes(address, "little"))
        await self.write(place_at_parents=place)

    async def register(
        self,
        job: int,
        *,
        ports: int,
        parent: int | None = None,
        epoch: int,
        base: int,
        slots: int,
    ) -> None:
        """Enter a job's ports and slots; its grants up to ``epoch`` are over.

        ``ports`` is the bitmap of the ports of its children, ``parent`` the number of the port to
        its parent.
        """
        await self.write(job_ports=ports)
        await self.write(job_parent_port=parent or 0, job_has_parent=int(parent is not None))
        await self.write(job_base=base)
        await self.write(job_slots=slots)
        await self.command("register_job", job, epoch)

    async def acquire(self, job: int, epoch: int) -> None:
        """Get the switch for a job, in a grant of this epoch."""
        await self.command("acquire_job", job, epoch)

    async def release(self, job: int, epoch: int, *, force: bool = False) -> TenancyKind:
        """End a job's grants up to ``epoch``: RELEASED, or DRAINING, unless it is by ``force``."""
        await self.write(job_force=int(force))
        return await self.command("release_job", job, epoch)

    async def command(self, name: str, job: int, epoch: int) -> TenancyKind:
        """Give a command, and wait for its answer."""
        await self.write(job_number=job)
        await self.write(job_epoch=epoch)
        await self.write(**{name: 1})
        await self.settled()
        if await self.read("refused"):
            reason = Reason(await self.read("reason"))
            raise TenantRefused(reason, await self.read("owner"), await self.read("owner_epoch"))
        return TenancyKind(await self.read("answered"))

    async def tenant(self, job: int) -> dict[str, int]:
        """Read the counters of a job."""
        await self.write(counter_job=job)
        return await self.counted("tenant", TENANT_COUNTERS, wait=CounterBanks.latency)

    async def control(self, port: int) -> dict[str, int]:
        """Read the counters of the commands that came by a port."""
        await self.write(counter_port=port)
        return await self.counted("control", CONTROL_COUNTERS, wait=CounterBanks.latency)

    async def tenant_verdicts(self, job: int) -> dict[str, int]:
        """Read how many packets named a job, by the name of what became of them."""
        await self.write(counter_job=job)
        found = {}
        for verdict in self.verdict:
            if verdict.name != "NONE":
                await self.write(counter_verdict=verdict.value)
                found[verdict.name] = await self.read("tenant_verdicts")
        return found
