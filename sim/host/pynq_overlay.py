"""Reaches a kernel on a card that PYNQ manages: registers by an overlay's IP, buffers by arrays.

Releases of PYNQ up to 3.0.1 have cards that XRT manages, and need a NumPy before 2; 3.1 has none
of these cards any more.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from weakref import ref

import numpy as np

from sim.host.device import Bus, DeviceError


class Buffer:
    """Has the calls of ``pyxrt.bo`` for an array of bytes that ``pynq.allocate`` has returned."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def size(self) -> int:
        """Return the number of bytes."""
        return self.array.nbytes

    def address(self) -> int:
        """Return the card's address of the first byte."""
        return self.array.device_address

    def write(self, data: bytes, seek: int) -> None:
        """Write bytes into the host's copy."""
        self.array[seek : seek + len(data)] = np.frombuffer(data, np.uint8)

    def read(self, size: int, skip: int) -> bytes:
        """Return bytes of the host's copy."""
        return self.array[skip : skip + size].tobytes()

    def sync(self, direction: str, size: int | None = None, offset: int = 0) -> None:
        """Copy bytes, all unless it is said which, ``TO`` the card or ``FROM`` it."""
        part = self.array[offset : None if size is None else offset + size]
        if direction == "TO":
            part.sync_to_device()
        else:
            part.sync_from_device()


@contextmanager
def overlay_of(path: str, card: str, kernel: str) -> Iterator[tuple[Bus, Any]]:
    """Load an xclbin into a card by its number; open the registers of its ``kernel``.

    Yields them, and what allocates a buffer of a size in a bank of XRT's tag. :class:`DeviceError`
    if PYNQ is missing or refuses.
    """
    try:
        pynq = import_module("pynq")
    except ImportError as error:
        raise DeviceError("PYNQ's module pynq is missing") from error
    arrays: list[ref[Any]] = []
    try:
        overlay = pynq.Overlay(path, device=pynq.Device.devices[int(card)])
        units = {ip["cu_name"].partition(":")[0]: name for name, ip in overlay.ip_dict.items()}
        registers = getattr(overlay, units[kernel])
    except (IndexError, KeyError, ValueError, OSError, RuntimeError) as error:
        why = f"there is no {error}" if isinstance(error, KeyError) else error
        raise DeviceError(f"cannot load {path} into card {card}: {why}") from error

    def allocate(size: int, bank: str) -> Buffer:
        try:  # PYNQ's name of a memory that is used is its tag without brackets
            target = getattr(overlay, re.sub(r"\W", "", bank))
            array = pynq.allocate((size,), "u1", target=target)
        except (AttributeError, RuntimeError) as error:
            raise DeviceError(f"there is no room for {size} bytes in {bank}: {error}") from error
        arrays.append(ref(array))
        return Buffer(array)

    try:
        yield registers, allocate
    finally:
        for each in arrays:  # those that nobody has any more are free already
            if (array := each()) is not None:
                array.freebuffer()
        overlay.free()
