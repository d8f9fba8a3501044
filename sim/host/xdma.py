"""Reaches a card through the files of AMD's Linux driver ``xdma`` (dma_ip_drivers, PG195).

``PREFIX_user`` is the card's window of registers, ``PREFIX_h2c_0`` takes writes of its memory at
the file's offset and ``PREFIX_c2h_0`` gives it back, where PREFIX is ``/dev/xdma0`` for the first
card. The driver itself gives a transfer up after its ``h2c_timeout_ms`` or ``c2h_timeout_ms``, 10
seconds unless set otherwise, so no transfer is waited for without end.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from sim.host.device import Bus, DeviceError
from sim.host.register_window import Mapped, Window, window_at

#: argument by which a program's user names a card
DEVICE = {
    "default": "/dev/xdma0",
    "metavar": "PREFIX",
    "help": "open the card whose driver's files have this prefix (default: %(default)s)",
}


class Xdma(Window):
    """Reads and writes a card's registers on ``bus``, its memory by DMA.

    :class:`DeviceError` if one of the driver's files cannot be opened or a transfer fails.
    """

    def __init__(self, bus: Bus, prefix: str = "/dev/xdma0") -> None:
        super().__init__(bus)
        self.prefix = prefix
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

    def read_memory(self, address: int, size: int) -> bytes:
        """Return ``size`` bytes, however many reads that takes."""
        result = bytearray()
        while len(result) < size:
            at = address + len(result)
            try:
                part = os.pread(self._from_card, size - len(result), at)
            except OSError as error:
                raise DeviceError(f"reading {at:#x} by DMA failed: {error.strerror}") from error
            if not part:
                raise DeviceError(f"the card gives nothing at {at:#x}")
            result += part
        return bytes(result)

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
    with window_at(mapped, f"{prefix}_user") as window, Xdma(window, prefix) as card:
        if ready is not None and not card.read(ready[0]) >> ready[1] & 1:
            raise DeviceError("the card's memory is not ready")
        yield card
