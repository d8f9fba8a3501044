"""Shares a switch out to jobs: registers them, acquires the switch for one, releases it."""

from sim.host.device import chosen, shown, wait_until
from sim.host.switch.job_switch import CommandRefused, JobSwitch

MAX_EPOCH = (1 << 32) - 1


class MinaSwitch(JobSwitch):
    """Drives a switch whose jobs are tenants: frames of a job count while it holds the switch.

    An *epoch* numbers the grants of a job, from 1 on; each grant has one above all before it.
    """

    def share(self, *, most: int, ports_apart: bool) -> None:
        """Let at most ``most`` jobs hold the switch at a time, or all with no port in common."""
        if not 1 <= most <= self.build.fixed["jobs"]:
            raise ValueError(f"most must be from 1 to {self.build.fixed['jobs']}: {most}")
        self.registers.write(most_granted=most, ports_apart=int(ports_apart))

    def open_ports(self, ports: list[int]) -> None:
        """Let the controllers behind these ports, and no others, give commands by frames."""
        if any(not 0 <= port < self.build.fixed["ports"] for port in ports):
            raise ValueError(f"ports must be some of 0 to {self.build.fixed['ports'] - 1}: {ports}")
        self.registers.write(control_ports=sum(1 << port for port in set(ports)))

    def set_parents(self, address: bytes, place: int) -> None:
        """Set the Ethernet address of the switches above, and which of their ports leads here."""
        self._set_address("parent_address", address)
        self.registers.write(place_at_parents=place)

    def register(
        self,
        job: int,
        *,
        ports: list[int],
        base: int,
        slots: int,
        epoch: int = 0,
        parent: int | None = None,
    ) -> None:
        """Enter a job's ports and slots; its grants up to ``epoch`` are over.

        ``parent`` is the port towards the switch above, of a job that has one.
        :class:`CommandRefused` says why it cannot be.
        """
        self._check_job(job, epoch, MAX_EPOCH)
        self._check_parent(parent)
        self._set_place(ports, base, slots)
        self.registers.write(job_parent_port=parent or 0, job_has_parent=int(parent is not None))
        self._give("register_job", job, epoch)

    def acquire(self, job: int, epoch: int) -> None:
        """Get the switch for a job; :class:`CommandRefused` if another is in the way: try later."""
        self._give("acquire_job", job, epoch)

    def release(self, job: int, epoch: int, *, force: bool = False, wait: bool = True) -> None:
        """End a job's grants up to ``epoch``; with ``force`` at once, whatever its slots hold.

        Otherwise they end when no use of its slots goes on; this waits until then unless ``wait``
        is False. DeviceError if that takes too long.
        """
        self.registers.write(job_force=int(force))
        self._give("release_job", job, epoch)
        if not wait:
            return
        wait_until(
            self.device,
            lambda: not self.registers.read("draining_jobs") >> job & 1,
            "release_job",
            self.seconds,
        )

    def tenant_counters(self, job: int) -> dict[str, int]:
        """Return the counters of a job by name."""
        self._check_job(job, 0, MAX_EPOCH)
        return chosen(self.registers, self.build.tenant_counters, "tenant", counter_job=job)

    def tenant_verdicts(self, job: int) -> dict[str, int]:
        """Return how many frames named a job, by the name of what became of them."""
        self._check_job(job, 0, MAX_EPOCH)
        self.registers.write(counter_job=job)
        counts = {}
        for name, value in self.build.verdicts.items():
            self.registers.write(counter_verdict=value)
            counts[name] = shown(self.registers, "tenant_verdicts")
        return counts

    def control_counters(self, port: int) -> dict[str, int]:
        """Return the counters of the commands that came by a port, by name."""
        names = self.build.control_counters
        return chosen(self.registers, names, "control", counter_port=port)

    def _check_parent(self, parent: int | None) -> None:
        if parent is not None and not 0 <= parent < self.build.fixed["ports"]:
            raise ValueError(f"parent must be a port below {self.build.fixed['ports']}: {parent}")

    def _give(self, name: str, job: int, epoch: int) -> None:
        self._check_job(job, epoch, MAX_EPOCH)
        self.registers.write(job_number=job)
        self.registers.write(job_epoch=epoch)
        try:
            self._command(name)
        except CommandRefused as refused:
            refused.owner = int(self.registers.read("owner"))
            refused.owner_epoch = int(self.registers.read("owner_epoch"))
            raise
