"""A host's driver of a switch whose jobs are tenants: grants, and what is counted of each."""

from typing import Any

from hdl.common.counter_banks import CounterBanks
from hdl.p4sgd.switch.tenant_params import TenantSwitchParams, TenantVerdict
from hdl.switch.tenancy import TenantRefusal
from hdl.switch.tenant_counters import TENANT_COUNTERS
from sim.harness.switch_driver import CommandRefused
from sim.p4sgd.switch_driver import SwitchDriver


class TenantDriver(SwitchDriver):
    """Drives the register bus of a simulated switch of tenants.

    Each command raises :class:`CommandRefused` if it had no effect, with the ``reason`` and, of an
    acquire, the ``owner`` that is in the way.
    """

    verdict, refusal = TenantVerdict, TenantRefusal

    def __init__(self, dut: Any, params: TenantSwitchParams, bus: Any = "s_axil") -> None:
        super().__init__(dut, params, bus)

    async def share(self, *, most: int, apart: bool) -> None:
        """Let at most so many jobs hold the switch at a time, with ports ``apart`` or not."""
        await self.write(most_granted=most, ports_apart=int(apart))

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
        """Enter a job's ports and slots; its first grant has an epoch later than ``epoch``.

        ``ports`` is the bitmap of its children's, ``parent`` the number of that to its parent.
        """
        await self.write(job_number=job, job_epoch=epoch)
        await self.write(job_ports=ports)
        await self.write(job_parent_port=parent or 0, job_has_parent=int(parent is not None))
        await self.write(job_base=base)
        await self.write(job_slots=slots)
        await self.command("register_job", job)

    async def acquire(self, job: int, epoch: int) -> None:
        """Get the switch for a job, in a grant of this epoch."""
        await self.write(job_number=job, job_epoch=epoch)
        await self.command("start_job", job)

    async def release(self, job: int) -> None:
        """Let a job drain."""
        await self.command("release_job", job)

    async def stop_job(self, job: int) -> None:
        """Take the switch from a job by force."""
        await self.command("stop_job", job)

    async def command(self, name: str, job: int) -> None:
        """Give a command, and wait until it is carried out."""
        await self.write(job_number=job)
        await self.write(**{name: 1})
        await self.settled()
        await self.check()

    async def check(self) -> None:
        """Raise :class:`CommandRefused` if the last command was refused."""
        if await self.read("refused"):
            reason = TenantRefusal(await self.read("reason"))
            raise CommandRefused(reason, await self.read("owner"))

    async def tenant(self, job: int) -> dict[str, int]:
        """What is counted of a job."""
        await self.write(counter_job=job)
        return {
            name: await self.tenant_counter(k)
            for k, (name, _) in enumerate(TENANT_COUNTERS.counters)
        }

    async def tenant_counter(self, number: int) -> int:
        """A counter of the chosen job."""
        await self.write(tenant_counter=number)
        for _ in range(CounterBanks.latency):  # reads are longer than that each
            await self.read("tenant_count")
        return await self.read("tenant_count")

    async def tenant_verdicts(self, job: int) -> dict[str, int]:
        """Packets that name a job, by the name of what became of them."""
        await self.write(counter_job=job)
        found = {}
        for verdict in self.verdict:
            if verdict.name != "NONE":
                await self.write(counter_verdict=verdict.value)
                found[verdict.name] = await self.read("tenant_verdicts")
        return found
