"""Says what a program needs of a card, and what can go wrong with one."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

POLL_SECONDS = 1e-4  #: between two looks at a register


class Bus(Protocol):
    """Moves words of 32 bits to and from registers, as ``MappedBus`` of a driver does."""

    def read(self, address: int) -> int:
        """Return the register at byte address ``address``."""
        ...

    def write(self, address: int, word: int) -> None:
        """Write the register at byte address ``address``."""
        ...


class Registers(Bus, Protocol):
    """Reaches the registers of a card, or of what stands for one."""

    def pause(self) -> None:
        """Let the hardware go on for some microseconds, at least 64 of its clock cycles."""
        ...


class Device(Registers, Protocol):
    """Reaches the memories of a card too, or the memory of the host that a card works on."""

    def read_memory(self, address: int, size: int) -> bytes:
        """Return ``size`` bytes of memory from DMA address ``address`` on."""
        ...

    def write_memory(self, address: int, data: bytes) -> None:
        """Write ``data`` into memory from DMA address ``address`` on."""
        ...


class DeviceError(RuntimeError):
    """Reports that a card cannot be reached, is not what it should be, or does not answer."""


def wait_until(
    device: Registers,
    condition: Callable[[], object],
    what: str,
    seconds: float,
    interrupt: bool = False,
) -> None:
    """Look until ``condition`` holds; raise :class:`DeviceError` after ``seconds``.

    An ``interrupt`` may come when it does: a device that gives any is waited for by them, and by a
    pause after one that came for something else.
    """
    end, came = time.monotonic() + seconds, False
    wait = getattr(device, "wait_interrupt", None) if interrupt else None
    device.pause()
    while not condition():
        if (left := end - time.monotonic()) < 0:
            raise DeviceError(f"{what} has not ended within {seconds:g} s")
        came = wait is not None and not came and wait(left)
        if not came:
            device.pause()


def write_wide(registers: Any, **numbers: int) -> None:
    """Write numbers that two registers hold, by their names without ``_low`` and ``_high``."""
    for name, number in numbers.items():
        halves = {f"{name}_low": number & 0xFFFF_FFFF, f"{name}_high": number >> 32}
        registers.write(**halves)


def check_design(registers: Any, fixed: Mapping[str, int]) -> None:
    """Raise :class:`DeviceError` unless fields read as ``fixed`` has them, by name."""
    for name, value in fixed.items():
        if (result := registers.read(name)) != value:
            raise DeviceError(f"the device holds another design: {name} is {result}, not {value}")


def shown(registers: Any, name: str) -> int:
    """Return a field's second of two reads, as a choice takes up to 8 cycles to act."""
    registers.read(name)
    return int(registers.read(name))


def chosen(registers: Any, names: Iterable[str], bank: str, **part: int) -> dict[str, int]:
    """Return the counters of a bank by name, of which registers show one at a time.

    The number of a counter is that of its name in ``names``, written to ``BANK_counter``; its value
    is read from ``BANK_count``. ``part`` says of which part of the design they are.
    """
    counts = {}
    for number, name in enumerate(names):
        registers.write(**part, **{f"{bank}_counter": number})
        counts[name] = shown(registers, f"{bank}_count")
    return counts
