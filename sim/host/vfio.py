"""Reaches a card that reads and writes host memory itself, through Linux's driver ``vfio-pci``.

The card's PCI function and all others of its IOMMU group are bound to ``vfio-pci`` beforehand. The
kernel's Documentation/driver-api/vfio.rst has the steps, linux/vfio.h the numbers. The card sees
nothing of the host but one block of memory, from bus address 0 on.
"""

import ctypes
import mmap
import os
import select
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from fcntl import ioctl

from sim.host.device import Bus, DeviceError
from sim.host.register_window import Window

SET_IOMMU, GROUP_STATUS, SET_CONTAINER = 0x3B66, 0x3B67, 0x3B68
DEVICE_FD, REGION_INFO, SET_IRQS, MAP_DMA = 0x3B6A, 0x3B6C, 0x3B6E, 0x3B71
TYPE1_IOMMU = 1
VIABLE = 1  #: flag of a group
READ_AND_WRITE = 3  #: flags of a mapping
MSIX = 2  #: kind of interrupts of a PCI function
EVENT_AT_TRIGGER = 1 << 2 | 1 << 5  #: flags: an interrupt counts up an event
BAR_0, CONFIGURATION = 0, 7  #: regions of a PCI function
COMMAND, BUS_MASTER = 4, 4  #: register of the configuration, and its bit that lets a card do DMA

#: makes the bus of a register window, of a file, an offset and a size: a driver's ``MappedBus``
Mapped = Callable[[int, int, int], AbstractContextManager[Bus]]
#: argument by which a program's user names a card
DEVICE = {
    "required": True,
    "metavar": "ADDRESS",
    "help": "open the card at this PCI address, such as 0000:01:00.0, which vfio-pci drives",
}


class Vfio(Window):
    """Reads and writes a card's registers on ``bus``; memory is the block that the card sees.

    ``event`` is the file of an event that the card's interrupt counts up, if it has one.
    """

    def __init__(self, bus: Bus, memory: mmap.mmap, event: int | None = None) -> None:
        super().__init__(bus)
        self.memory, self.event = memory, event

    def wait_interrupt(self, seconds: float) -> bool:
        """Wait for an interrupt, also one since the last wait; return whether one has come."""
        if self.event is None:
            raise DeviceError("the card was opened without interrupts")
        came = bool(select.select([self.event], [], [], seconds)[0])
        if came:
            os.read(self.event, 8)
        return came

    def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of the block."""
        self._check(address, size)
        return self.memory[address : address + size]

    def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of the block."""
        self._check(address, len(data))
        self.memory[address : address + len(data)] = data

    def _check(self, address: int, size: int) -> None:
        if not 0 <= address <= address + size <= len(self.memory):
            raise ValueError(
                f"the card sees {len(self.memory)} bytes: {address} to {address + size}"
            )


@contextmanager
def opened(
    mapped: Mapped,
    address: str,
    memory_bytes: int,
    ready: tuple[int, int] | None,
    *,
    interrupts: bool = False,
) -> Iterator[Vfio]:
    """Open the card at a PCI address such as ``0000:01:00.0``, with so much memory to see.

    ``memory_bytes`` is a multiple of a page's. ``ready`` is the address of the register, and the
    bit in it, that tell that the card's own memory may be used; None if there is none. With
    ``interrupts`` interrupt 0 of MSI-X can be waited for. :class:`DeviceError` if a step fails or
    the memory is not ready.
    """
    with ExitStack() as stack:
        try:
            container = opened_file("/dev/vfio/vfio", stack)
            device = device_of(address, container, stack)
            memory = stack.enter_context(mmap.mmap(-1, memory_bytes))
            let_see(container, memory)
            size, offset = region(device, BAR_0)
            bus = stack.enter_context(mapped(device, offset, size))
            event = let_interrupt(device, stack) if interrupts else None
            let_master(device, stack)
        except OSError as error:
            raise DeviceError(f"cannot open {address}: {error.strerror}") from error
        card = Vfio(bus, memory, event)
        if ready is not None and not card.read(ready[0]) >> ready[1] & 1:
            raise DeviceError("the card's memory is not ready")
        yield card


def opened_file(path: str, stack: ExitStack) -> int:
    """Open a file until the stack ends."""
    file = os.open(path, os.O_RDWR)
    stack.callback(os.close, file)
    return file


def device_of(address: str, container: int, stack: ExitStack) -> int:
    """Return the open file of a PCI function, whose group is put into the container."""
    number = os.path.basename(os.readlink(f"/sys/bus/pci/devices/{address}/iommu_group"))
    group = opened_file(f"/dev/vfio/{number}", stack)
    status = bytearray(struct.pack("=II", 8, 0))
    ioctl(group, GROUP_STATUS, status)
    if not struct.unpack("=II", status)[1] & VIABLE:
        raise DeviceError(f"not all functions of IOMMU group {number} are bound to vfio-pci")
    ioctl(group, SET_CONTAINER, bytearray(struct.pack("=i", container)))
    ioctl(container, SET_IOMMU, TYPE1_IOMMU)
    device = ioctl(group, DEVICE_FD, bytearray(address.encode() + b"\0"))
    stack.callback(os.close, device)
    return device


def let_see(container: int, memory: mmap.mmap) -> None:
    """Let the card read and write ``memory`` from bus address 0 on."""
    place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ioctl(
        container,
        MAP_DMA,
        bytearray(struct.pack("=IIQQQ", 32, READ_AND_WRITE, place, 0, len(memory))),
    )


def region(device: int, index: int) -> tuple[int, int]:
    """Return the size of a region, and where in the device's file it is."""
    info = bytearray(struct.pack("=IIIIQQ", 32, 0, index, 0, 0, 0))
    ioctl(device, REGION_INFO, info)
    size, offset = struct.unpack("=IIIIQQ", info)[4:]
    return size, offset


def let_interrupt(device: int, stack: ExitStack) -> int:
    """Let interrupt 0 of MSI-X count up an event until the stack ends; return the event's file."""
    event = os.eventfd(0)
    stack.callback(os.close, event)
    ioctl(
        device, SET_IRQS, bytearray(struct.pack("=IIIIIi", 24, EVENT_AT_TRIGGER, MSIX, 0, 1, event))
    )
    return event


def let_master(device: int, stack: ExitStack) -> None:
    """Let the card do DMA until the stack ends."""
    place = region(device, CONFIGURATION)[1] + COMMAND
    (before,) = struct.unpack("<H", os.pread(device, 2, place))
    os.pwrite(device, struct.pack("<H", before | BUS_MASTER), place)
    stack.callback(os.pwrite, device, struct.pack("<H", before & ~BUS_MASTER), place)
