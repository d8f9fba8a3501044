"""Reaches a card through the files of AMD's Linux driver ``xdma`` (dma_ip_drivers, PG195).

``PREFIX_user`` is the card's window of registers, ``PREFIX_h2c_0`` takes writes of its memory at
the file's offset and ``PREFIX_c2h_0`` gives it back, where PREFIX is ``/dev/xdma0`` for the first
card. The driver itself gives a transfer up after its ``h2c_timeout_ms`` or ``c2h_timeout_ms``, 10
seconds unless set otherwise, so no transfer is waited for without end.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from gen.software.emitted.device import POLL_SECONDS, DeviceError


class Bus(Protocol):
    """Moves words of 32 bits to and from registers, as ``MappedBus`` of a driver does."""

    def read(self, address: int) -> int:
        """Return the word at byte address ``address``."""
        ...

    def write(self, address: int, word: int) -> None:
        """Write the word at byte address ``address``."""
        ...


#: makes the bus of a register window: a driver's class ``MappedBus``
Mapped = Callable[[str, int, int], AbstractContextManager[Bus]]
BAR_BYTES = 1 << 20  #: of a card's window of registers


class Xdma:
    """Reads and writes a card's registers on ``bus``, its memory by DMA.

    :class:`DeviceError` if one of the driver's files cannot be opened or a transfer fails.
    """

    def __init__(self, bus: Bus, prefix: str = "/dev/xdma0") -> None:
        self.bus, self.prefix = bus, prefix
        self._to_card = self._open("h2c_0", os.O_WRONLY)
        try:
            self._from_card = self._open("c2h_0", os.O_RDONLY)
        except DeviceError:
            os.close(self._to_card)
            raise

    def _open(self, name: str, how: int) -> int:
        try:
            return os.open(f"{self.prefix}_{name}", how)
        except OSError as error:
            raise DeviceError(f"cannot open {self.prefix}_{name}: {error.strerror}") from error

    def read(self, address: int) -> int:
        """Return a register."""
        return self.bus.read(address)

    def write(self, address: int, word: int) -> None:
        """Write a register."""
        self.bus.write(address, word)

    def read_memory(self, address: int, size: int) -> bytes:
        """Return ``size`` bytes, however many reads that takes."""
        found = bytearray()
        while len(found) < size:
            at = address + len(found)
            try:
                part = os.pread(self._from_card, size - len(found), at)
            except OSError as error:
                raise DeviceError(f"reading {at:#x} by DMA failed: {error.strerror}") from error
            if not part:
                raise DeviceError(f"the card gives nothing at {at:#x}")
            found += part
        return bytes(found)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write all of ``data``, however many writes that takes."""
        rest = memoryview(data)
        while rest:
            try:
                written = os.pwrite(self._to_card, rest, address)
            except OSError as error:
                message = f"writing {address:#x} by DMA failed: {error.strerror}"
                raise DeviceError(message) from error
            if not written:
                raise DeviceError(f"the card takes nothing at {address:#x}")
            rest, address = rest[written:], address + written

    def pause(self) -> None:
        """Sleep for a moment."""
        time.sleep(POLL_SECONDS)

    def close(self) -> None:
        """Close the files of DMA; the object is of no use afterwards."""
        os.close(self._to_card)
        os.close(self._from_card)

    def __enter__(self) -> "Xdma":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def opened(mapped: Mapped, prefix: str, ready: tuple[int, int] | None) -> Iterator[Xdma]:
    """Open the card whose files begin with ``prefix``.

    ``ready`` is the address of the register, and the bit in it, that tell that the card's memory
    may be used. :class:`DeviceError` if there is no such card or its memory is not ready.
    """
    try:
        window = mapped(f"{prefix}_user", 0, BAR_BYTES)
    except (OSError, ValueError) as error:  # ValueError: the window is smaller
        why = getattr(error, "strerror", None) or error
        raise DeviceError(f"cannot open {prefix}_user: {why}") from error
    with window as bus, Xdma(bus, prefix) as card:
        if ready is not None and not card.read(ready[0]) >> ready[1] & 1:
            raise DeviceError("the card's memory is not ready")
        yield card
