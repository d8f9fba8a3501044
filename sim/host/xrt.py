"""Reaches a kernel on a card that XRT manages: registers by ``xrt::ip``, memory by ``pyxrt``.

XRT's Python module ``pyxrt`` has devices and buffers, but no release of it has ``xrt::ip``:
registers and interrupt go through ``libxrt_registers.so``, built of ``xrt_registers.cpp``. PYNQ
takes its place for a file that is named ``pynq:FILE.xclbin``; its interrupts are those of Zynq.
"""

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from sim.host.device import Bus, DeviceError, wait_until
from sim.host.pynq_overlay import overlay_of
from sim.host.register_window import Window
from sim.host.selftest.board import Board

PLACE_BITS = 40  #: the buffer of manager k is memory from k << PLACE_BITS on
PAGE = 4096
HOST = "HOST"  #: the tag of a bank of host memory begins so
PYNQ = "pynq:"  #: before the name of a file that PYNQ loads
SECONDS = 10.0  #: the longest that a copy of the model may take
LOOK_SECONDS = 0.1  #: the longest that an interrupt is relied on, before a look at registers
LIBRARY = Path(__file__).with_name("libxrt_registers.so")
BUILT = (
    "g++ -std=c++17 -shared -fPIC -I$XILINX_XRT/include xrt_registers.cpp"
    " -o libxrt_registers.so -L$XILINX_XRT/lib -lxrt_coreutil"
)


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """Describes a kernel, as its host must know it."""

    name: str  #: name of the kernel in the xclbin
    managers: tuple[str, ...]  #: names of the AXI managers, without ``m_axi_``
    banks: tuple[str, ...]  #: the memory bank of each manager's buffer, by XRT's tag
    most: tuple[int, ...]  #: bytes of each manager's largest buffer
    model: int | None = None  #: number of the manager for copies of the model, if there is one
    device: int | None = None  #: number of the manager of device memory, in a gather engine
    beat: int  #: bytes of which a copy has a whole number
    reserved: Mapping[int, int]  #: bytes of buffers that only the kernel uses, by manager's number
    identity: int  #: what the field ``kernel`` reads
    fields: Mapping[str, tuple[int, int, int]]  #: address, first bit and bits of registers' fields


class Registers:
    """Reads and writes the registers of a kernel by ``xrt::ip``, which no one else may then use.

    ``device`` is the card's number or its PCI address, ``uuid`` that of the xclbin that is loaded.
    """

    def __init__(self, device: str, uuid: str, name: str, library: Path = LIBRARY) -> None:
        try:
            self.library = library_at(library)
        except OSError as error:
            raise DeviceError(f"cannot load {library}: {error}; it is built by: {BUILT}") from error
        self.ip = self.library.xrt_registers_open(device.encode(), uuid.encode(), name.encode())
        if not self.ip:
            raise self.failed(f"opening kernel {name}")

    def failed(self, what: str) -> DeviceError:
        """Return the error that XRT has reported."""
        return DeviceError(f"{what} failed: {self.library.xrt_registers_error().decode()}")

    def read(self, address: int) -> int:
        """Return a register."""
        word = ctypes.c_uint32()
        if self.library.xrt_registers_read(self.ip, address, ctypes.byref(word)):
            raise self.failed(f"reading register {address:#x}")
        return word.value

    def write(self, address: int, word: int) -> None:
        """Write a register."""
        if self.library.xrt_registers_write(self.ip, address, word):
            raise self.failed(f"writing register {address:#x}")

    def wait_interrupt(self, seconds: float) -> bool:
        """Wait for an interrupt, also one since the last wait; return whether one has come."""
        came = ctypes.c_int()
        if self.library.xrt_registers_wait(self.ip, int(1000 * seconds), ctypes.byref(came)):
            raise self.failed("waiting for an interrupt")
        return bool(came.value)

    def close(self) -> None:
        """Give the kernel back to XRT; the object is of no use afterwards."""
        self.library.xrt_registers_close(self.ip)


def library_at(path: Path) -> Any:
    """Return the library for registers, whose functions have their types."""
    library = ctypes.CDLL(str(path))
    library.xrt_registers_open.restype = ctypes.c_void_p
    library.xrt_registers_error.restype = ctypes.c_char_p
    number, word = ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32)
    library.xrt_registers_read.argtypes = ctypes.c_void_p, number, word
    library.xrt_registers_write.argtypes = ctypes.c_void_p, number, number
    library.xrt_registers_wait.argtypes = ctypes.c_void_p, number, ctypes.POINTER(ctypes.c_int)
    library.xrt_registers_close.argtypes = (ctypes.c_void_p,)
    return library


class Xrt(Window):
    """Reads and writes a kernel's registers on ``bus``, and the buffers of its managers.

    Memory from k << :data:`PLACE_BITS` on is the buffer of manager k. ``allocate`` makes a buffer
    of a size in a bank, as ``pyxrt.bo``; a buffer is made when it is first used, made anew when it
    is too small, and the kernel is informed where it is. What is written to that of the model
    is copied into the design, and what is read from it is copied out of the design before.
    ``direction`` makes of TO and FROM what the method ``sync`` of a buffer takes.
    """

    def __init__(self, bus: Bus, allocate: Any, kernel: Kernel, direction: Any) -> None:
        super().__init__(bus)
        self.allocate, self.kernel, self.direction = allocate, kernel, direction
        self.fields = Board(self, kernel.fields)
        self.buffers: dict[int, Any] = {}
        if (number := self.fields.read("kernel")) != kernel.identity:
            raise DeviceError(f"the card holds another kernel: it reads {number:#x}")
        for number, size in kernel.reserved.items():
            self.buffer(number, size)

    def wait_interrupt(self, seconds: float) -> bool:
        """Wait for the kernel's interrupt, also one since the last wait; return whether one came.

        It returns after :data:`LOOK_SECONDS` at most, and after a pause where there is none.
        """
        wait = getattr(self.bus, "wait_interrupt", None)
        if wait is None or "interrupt_enable" not in self.kernel.fields:
            self.pause()
            return False
        self.fields.write("interrupt_enable", 1)
        try:
            return wait(min(seconds, LOOK_SECONDS))
        finally:
            self.fields.write("interrupt_enable", 0)

    def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of a buffer."""
        number, offset = divmod(address, 1 << PLACE_BITS)
        buffer = self.buffer(number, offset + size)
        if number == self.kernel.model:
            self.copy("store_model", offset, size)
        buffer.sync(self.direction("FROM"), size, offset)
        return bytes(buffer.read(size, offset))

    def read_card(self, address: int, size: int) -> bytes:
        """Return bytes of device memory."""
        return self.read_memory((self.kernel.device or 0) << PLACE_BITS | address, size)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of a buffer."""
        number, offset = divmod(address, 1 << PLACE_BITS)
        buffer = self.buffer(number, offset + len(data))
        buffer.write(data, offset)
        buffer.sync(self.direction("TO"), len(data), offset)
        if number == self.kernel.model:
            self.copy("load_model", offset, len(data))

    def buffer(self, number: int, size: int) -> Any:
        """Return the buffer of a manager, of this size or larger; it keeps its content."""
        old, name = self.buffers.get(number), self.kernel.managers[number]
        if old is not None and old.size() >= size:
            return old
        if size > (most := self.kernel.most[number]):
            raise DeviceError(f"m_axi_{name} reaches {most} bytes, not {size}")
        new = self.allocate(-(-size // PAGE) * PAGE, self.kernel.banks[number])
        if old is not None:
            old.sync(self.direction("FROM"))
            new.write(bytes(old.read(old.size(), 0)), 0)
            new.sync(self.direction("TO"))
        if (place := new.address()) % PAGE:
            raise DeviceError(f"XRT has put a buffer at {place:#x}, which is no multiple of {PAGE}")
        self.fields.write(f"pointer_{name}_low", place & 0xFFFF_FFFF)
        self.fields.write(f"pointer_{name}_high", place >> 32)
        self.buffers[number] = new
        return new

    def copy(self, command: str, offset: int, size: int) -> None:
        """Copy a part of the model between its buffer and the design."""
        fields, beat = self.fields, self.kernel.beat
        if offset % beat or size % beat:
            raise ValueError(f"a copy has whole beats of {beat} bytes: {size} bytes from {offset}")
        fields.write("copy_offset", offset)
        fields.write("copy_beats", size // beat)
        fields.write(command, 1)
        wait_until(self, lambda: not fields.read("copy_busy"), "a copy of the model", SECONDS)
        result = ("copy_broken", "failed_beats", "failed_bursts")
        if wrong := {name: count for name in result if (count := fields.read(name))}:
            raise DeviceError(f"{command} failed: {wrong}")


def direction(which: str) -> Any:
    """Return XRT's name for a copy of a buffer TO or FROM the device."""
    return getattr(pyxrt().xclBOSyncDirection, f"XCL_BO_SYNC_BO_{which}_DEVICE")


def pyxrt() -> Any:
    """Return XRT's Python module."""
    try:
        return import_module("pyxrt")
    except ImportError as error:
        raise DeviceError("XRT's module pyxrt is missing: source XRT's setup.sh") from error


@contextmanager
def opened(place: str, kernel: Kernel, host_bytes: int = 0) -> Iterator[Xrt]:
    """Load ``FILE.xclbin``, or ``FILE.xclbin@CARD``, and open its kernel.

    CARD is a card's number, 0 unless given, or its PCI address, which only XRT takes. PYNQ loads
    ``pynq:FILE.xclbin``. The buffer of a manager in host memory, which PYNQ does not reach, has
    ``host_bytes`` from the beginning. :class:`DeviceError` if XRT refuses, or if the file has
    another kernel.
    """
    path, _, card = place.removeprefix(PYNQ).partition("@")
    card = card or "0"
    if place.startswith(PYNQ):
        with overlay_of(path, card, kernel.name) as reached:
            yield Xrt(*reached, kernel, str)
        return
    xrt = pyxrt()
    try:
        device = xrt.device(int(card) if card.isdigit() else card)
        uuid = device.load_xclbin(path)
        groups = {mem.get_tag(): mem.get_index() for mem in xrt.xclbin(path).get_mems()}
    except RuntimeError as error:  # pybind11's for all of XRT's
        raise DeviceError(f"cannot load {path} into card {card}: {error}") from error

    def allocate(size: int, bank: str) -> Any:
        try:
            flags = xrt.bo.flags
            kind = flags.host_only if bank.startswith(HOST) else flags.normal
            return xrt.bo(device, size, kind, groups[bank])
        except (KeyError, RuntimeError) as error:
            raise DeviceError(f"there is no room for {size} bytes in {bank}: {error}") from error

    in_host = {k: host_bytes for k, bank in enumerate(kernel.banks) if bank.startswith(HOST)}
    kernel = replace(kernel, reserved={**kernel.reserved, **in_host})
    registers = Registers(card, uuid.to_string(), kernel.name)
    try:
        yield Xrt(registers, allocate, kernel, direction)
    finally:
        registers.close()
