"""Drives what every switch with jobs has: its addresses, commands and counters."""

from typing import Any

from sim.host.device import DeviceError, Registers, check_design, shown, wait_until, write_wide
from sim.host.switch.build import Build

SECONDS = 10.0  #: the longest wait for the hardware unless told otherwise
TOTALS = ("packets", "cycles", "saturations")  #: counters of the switch as a whole
ADDRESS_BYTES = 6


class CommandRefused(DeviceError):
    """Reports a command without effect; ``reason`` is the name of why.

    ``owner`` is the job that is in the way, and ``owner_epoch`` its grant, where jobs are tenants.
    """

    owner = owner_epoch = 0

    def __init__(self, reason: str, build: Build) -> None:
        why = build.reasons.get(reason, "")
        super().__init__(f"the switch refused the command: {reason}" + (f", {why}" if why else ""))
        self.reason = reason


class JobSwitch:
    """Drives one switch on ``device``.

    ``registers`` is an object of the generated driver's class on the same device. ``seconds`` is
    the longest that a command may take. Raises :class:`DeviceError` if the device holds another
    design than ``build``.
    """

    verdict_count = "counter_value"  #: the field that shows how many frames met the chosen verdict

    def __init__(self, device: Registers, registers: Any, build: Build) -> None:
        self.device, self.registers, self.build = device, registers, build
        self.seconds = SECONDS
        check_design(registers, build.fixed)

    def set_addresses(self, switch: bytes, group: bytes) -> None:
        """Set the Ethernet addresses, six bytes each in the order of the wire.

        Workers send to ``switch``; the switch's frames come from there and go to ``group``.
        """
        self._set_address("switch_address", switch)
        self._set_address("group_address", group)

    def verdicts(self) -> dict[int, dict[str, int]]:
        """Return how many frames met each verdict, by port and by the verdict's name."""
        counts: dict[int, dict[str, int]] = {}
        for port in range(self.build.fixed["ports"]):
            counts[port] = {}
            for name, value in self.build.verdicts.items():
                self.registers.write(counter_port=port, counter_verdict=value)
                counts[port][name] = shown(self.registers, self.verdict_count)
        return counts

    def port_counters(self) -> dict[int, dict[str, int]]:
        """Return what was sent and what was lost, by port and by the counter's name."""
        counts = {}
        for port in range(self.build.fixed["ports"]):
            self.registers.write(counter_port=port)
            counts[port] = {n: int(self.registers.read(n)) for n in self.build.port_counters}
        return counts

    def counters(self) -> dict[str, int]:
        """Return the counters of the switch as a whole, by name."""
        return {name: int(self.registers.read(name)) for name in TOTALS}

    def clear_counters(self) -> None:
        """Set all counters to 0."""
        self.registers.write(clear_counters=1)
        self._wait("clear_counters", "clearing_counters")

    def _set_address(self, name: str, address: bytes) -> None:
        if len(address) != ADDRESS_BYTES:
            raise ValueError(f"{name} must be {ADDRESS_BYTES} bytes: {address!r}")
        write_wide(self.registers, **{name: int.from_bytes(address, "little")})

    def _check_job(self, job: int, epoch: int, most: int) -> None:
        if not 0 <= job < self.build.fixed["jobs"]:
            raise ValueError(f"job must be from 0 to {self.build.fixed['jobs'] - 1}: {job}")
        if not 0 <= epoch <= most:
            raise ValueError(f"epoch must be from 0 to {most}: {epoch}")

    def _check_place(self, ports: list[int], base: int, slots: int) -> None:
        fixed = self.build.fixed
        if not ports or any(not 0 <= port < fixed["ports"] for port in ports):
            raise ValueError(f"ports must be some of 0 to {fixed['ports'] - 1}: {ports}")
        if slots < 1 or base < 0 or base + slots > fixed["slots"]:
            raise ValueError(
                f"slots must be some of 0 to {fixed['slots'] - 1}: {slots} from {base}"
            )

    def _set_place(self, ports: list[int], base: int, slots: int) -> None:
        """Tell the ports of a job's workers, and its slots."""
        self._check_place(ports, base, slots)
        self.registers.write(job_ports=sum(1 << port for port in set(ports)))
        self.registers.write(job_base=base)
        self.registers.write(job_slots=slots)

    def _command(self, name: str) -> None:
        """Give a command and wait for its end; raise CommandRefused if it had no effect."""
        self.registers.write(**{name: 1})
        self._wait(name, "busy")
        if self.registers.read("refused"):
            reason = self.registers.read("reason")
            raise CommandRefused(getattr(reason, "name", str(reason)), self.build)

    def _wait(self, command: str, field: str) -> None:
        wait_until(self.device, lambda: not self.registers.read(field), command, self.seconds)
