"""Drives a switch for every system: each part by its own package, in its page of registers."""

from importlib import import_module
from typing import Any

from sim.host.device import Registers, check_design, write_wide
from sim.network_switch.host.build import Build

PAGE_BYTES = 1 << 12
SECONDS = 10.0  #: the longest wait for the hardware unless told otherwise
FORWARDING = "forwarding"  #: the part that has the ports


class Page:
    """Reaches the registers of page ``number`` of ``device``, as if they were a card's."""

    def __init__(self, device: Registers, number: int) -> None:
        self.device, self.base = device, PAGE_BYTES * number

    def read(self, address: int) -> int:
        """Return a register."""
        return self.device.read(self.base + address)

    def write(self, address: int, word: int) -> None:
        """Write a register."""
        self.device.write(self.base + address, word)

    def pause(self) -> None:
        """Let the hardware go on."""
        self.device.pause()


class SharedSwitch:
    """Drives one switch on ``device``.

    ``registers`` is an object of the generated driver's class on the same device. ``seconds`` is
    the longest that a command may take. Raises DeviceError if the device holds another design than
    ``build``; errors of a part are those of its package, RuntimeErrors.
    """

    def __init__(self, device: Registers, registers: Any, build: Build) -> None:
        self.device, self.registers, self.build = device, registers, build
        self.seconds = SECONDS
        check_design(registers, build.fixed)

    def part(self, name: str) -> Any:
        """Return what drives a part: ``forwarding``, or an engine that is built.

        It is made by the part's package, such as ``p4sgd_switch_host``. ValueError if there is no
        such part.
        """
        if name not in self.build.parts:
            raise ValueError(f"part must be one of {', '.join(self.build.parts)}: {name}")
        page, package, _ = self.build.parts[name]
        driver = import_module(package).attach(Page(self.device, page))
        driver.seconds = self.seconds
        return driver

    def set_addresses(self, switch: bytes, group: bytes) -> None:
        """Set the Ethernet address at which the switch takes frames of its engines.

        Engines that answer several hosts send to ``group``. The addresses of NetSparse are set by
        its own part.
        """
        forwarding = self.part(FORWARDING)
        write_wide(forwarding.registers, switch_address=int.from_bytes(switch, "big"))
        for name in self.build.parts:
            if name in self.with_jobs:
                self.part(name).set_addresses(switch, group)

    @property
    def with_jobs(self) -> tuple[str, ...]:
        """Return the names of the engines whose jobs are started and stopped."""
        return tuple(name for name in self.build.parts if name not in (FORWARDING, "netsparse"))

    def counters(self) -> dict[str, int]:
        """Return how many packets were lost that should never be, by port and class."""
        return {name: int(self.registers.read(name)) for name in self.build.lost}

    def clear_counters(self) -> None:
        """Set the counters of lost packets to 0."""
        if self.build.lost:
            self.registers.write(clear_lost=1)
