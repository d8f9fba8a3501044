"""Reaches a card that has registers and nothing else for the host."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from sim.host.device import POLL_SECONDS, Bus, DeviceError

#: makes the bus of a register window, of a file, an offset and a size: a driver's ``MappedBus``
Mapped = Callable[[str, int, int], AbstractContextManager[Bus]]
BAR_BYTES = 1 << 20  #: of a card's window of registers
#: argument by which a program's user names a card
DEVICE = {
    "required": True,
    "metavar": "PATH",
    "help": "open the card of these registers, /sys/bus/pci/devices/ADDRESS/resource0",
}


class Window:
    """Reads and writes a card's registers on ``bus``."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus

    def read(self, address: int) -> int:
        """Return a register."""
        return self.bus.read(address)

    def write(self, address: int, word: int) -> None:
        """Write a register."""
        self.bus.write(address, word)

    def pause(self) -> None:
        """Sleep for a moment."""
        time.sleep(POLL_SECONDS)


@contextmanager
def window_at(mapped: Mapped, path: str) -> Iterator[Window]:
    """Open the window of registers that ``path`` shows; :class:`DeviceError` if there is none."""
    try:
        window = mapped(path, 0, BAR_BYTES)
    except (OSError, ValueError) as error:  # ValueError: the window is smaller
        why = getattr(error, "strerror", None) or error
        raise DeviceError(f"cannot open {path}: {why}") from error
    with window as bus:
        yield Window(bus)
