"""Tests what stands for a card or reaches one: registers, memory, and what can go wrong."""

import mmap
import os
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from gen.base.registers.python_driver import driver_module
from hdl.p4sgd.host.registers import worker_registers
from hdl.p4sgd.worker_params import WorkerParams
from sim.host import device, vfio, xdma
from sim.host.device import DeviceError
from sim.host.fake import Fake
from sim.host.sparse_memory import PAGE, SparseMemory
from sim.host.xdma import Xdma


@pytest.fixture
def prefix(tmp_path):
    for name in ("h2c_0", "c2h_0"):
        (tmp_path / f"card_{name}").write_bytes(b"")
    return str(tmp_path / "card")


def some(*numbers):
    """Do what a system call does, with one number of bytes at a call."""
    return iter(numbers)


def test_memory_keeps_bytes_across_pages():
    memory = SparseMemory()
    memory.write(3 * PAGE - 2, b"abcd")
    assert memory.read(3 * PAGE - 3, 6) == b"\0abcd\0"
    assert memory.read(3 * PAGE, 3) == b"cd\0"
    memory.write(0, bytes(range(256)) * (2 * PAGE // 256))
    assert memory.read(PAGE - 1, 2) == b"\xff\0"


def test_a_wait_ends_in_time(monkeypatch):
    now, looks = [100.0], []

    def look():
        looks.append(now[0])
        return False

    def pause():
        now[0] += 0.5

    monkeypatch.setattr(device, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with pytest.raises(DeviceError, match="the thing has not ended within 2 s"):
        device.wait_until(SimpleNamespace(pause=pause), look, "the thing", 2)
    assert looks == [100.5, 101, 101.5, 102, 102.5]  # after a pause, and once when it is late
    device.wait_until(SimpleNamespace(pause=pause), lambda: now[0] >= 104, "the thing", 2)
    paused, waited = [], []
    card = SimpleNamespace(pause=lambda: paused.append(pause()))
    card.wait_interrupt = lambda left: waited.append(left) or pause() or len(waited) < 4
    device.wait_until(card, lambda: now[0] >= 107.5, "the thing", 9)
    assert not waited  # none was to come
    paused.clear()
    device.wait_until(card, lambda: now[0] >= 112, "the thing", 9, interrupt=True)
    # a pause first, behind each interrupt that came for something else, and where none came
    assert (waited, len(paused)) == ([8.5, 7.5, 6.5, 5.5], 5)


def test_a_fake_reports_writes():
    heard = []
    fake = Fake(lambda address, word: heard.append((address, word)))
    fake.write(8, 5)
    fake.write_memory(1 << 33, b"deep")
    assert (fake.read(8), fake.read(4), heard) == (5, 0, [(8, 5)])
    assert fake.read_memory(1 << 33, 4) == b"deep"


def test_transfers_go_on_until_all_has_moved(prefix, monkeypatch):
    taken = []
    writes, reads = some(2, 3), iter([b"ab", b"cde"])
    monkeypatch.setattr(
        os, "pwrite", lambda _, data, at: taken.append((bytes(data), at)) or next(writes)
    )
    monkeypatch.setattr(os, "pread", lambda _, size, at: taken.append((size, at)) or next(reads))
    with Xdma(Fake(), prefix) as card:
        card.write_memory(64, b"vwxyz")
        assert card.read_memory(128, 5) == b"abcde"
    assert taken == [(b"vwxyz", 64), (b"xyz", 66), (5, 128), (3, 130)]


def test_transfers_that_fail(prefix, monkeypatch):
    def timeout(*_):
        raise TimeoutError(110, "Connection timed out")

    with Xdma(Fake(), prefix) as card:
        with pytest.raises(DeviceError, match="gives nothing at 0x40"):
            card.read_memory(64, 4)
        monkeypatch.setattr(os, "pwrite", lambda *_: 0)
        with pytest.raises(DeviceError, match="takes nothing at 0x40"):
            card.write_memory(64, b"data")
        monkeypatch.setattr(os, "pwrite", timeout)
        with pytest.raises(DeviceError, match="writing 0x40 by DMA failed: Connection timed out"):
            card.write_memory(64, b"data")
        monkeypatch.setattr(os, "pread", timeout)
        with pytest.raises(DeviceError, match="reading 0x40 by DMA failed: Connection timed out"):
            card.read_memory(64, 4)


@pytest.mark.parametrize("missing", ["h2c_0", "c2h_0"])
def test_files_that_are_missing(prefix, missing):
    os.remove(f"{prefix}_{missing}")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(DeviceError, match=f"cannot open .*card_{missing}: No such file"):
        Xdma(Fake(), prefix)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_window_that_is_too_small(prefix):
    def too_large(*_):
        raise ValueError("mmap length is greater than file size")

    with (
        pytest.raises(DeviceError, match=r"cannot open .*card_user: mmap length is greater"),
        xdma.opened(too_large, prefix, None),
    ):
        pass


HEADER = Path("/usr/include/linux/vfio.h")
NUMBERS = {
    "VFIO_SET_IOMMU": vfio.SET_IOMMU,
    "VFIO_TYPE1_IOMMU": vfio.TYPE1_IOMMU,
    "VFIO_GROUP_GET_STATUS": vfio.GROUP_STATUS,
    "VFIO_GROUP_FLAGS_VIABLE": vfio.VIABLE,
    "VFIO_GROUP_SET_CONTAINER": vfio.SET_CONTAINER,
    "VFIO_GROUP_GET_DEVICE_FD": vfio.DEVICE_FD,
    "VFIO_DEVICE_GET_REGION_INFO": vfio.REGION_INFO,
    "VFIO_PCI_CONFIG_REGION_INDEX": vfio.CONFIGURATION,
    "VFIO_IOMMU_MAP_DMA": vfio.MAP_DMA,
    "VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE": vfio.READ_AND_WRITE,
    "VFIO_DEVICE_SET_IRQS": vfio.SET_IRQS,
    "VFIO_PCI_MSIX_IRQ_INDEX": vfio.MSIX,
    "VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER": vfio.EVENT_AT_TRIGGER,
}
STRUCTURES = {
    "vfio_group_status": ("=II", "argsz flags"),
    "vfio_iommu_type1_dma_map": ("=IIQQQ", "argsz flags vaddr iova size"),
    "vfio_region_info": ("=IIIIQQ", "argsz flags index cap_offset size offset"),
    "vfio_irq_set": ("=IIIII", "argsz flags index start count"),
}


@pytest.mark.skipif(not HEADER.exists(), reason="the kernel's header is not installed")
def test_numbers_and_structures_are_those_of_the_kernel(tmp_path):
    expected = dict(NUMBERS)
    for name, (form, fields) in STRUCTURES.items():
        expected[f"sizeof(struct {name})"] = struct.calcsize(form)
        for k, field in enumerate(fields.split()):
            expected[f"offsetof(struct {name}, {field})"] = struct.calcsize(form[: k + 1])
    prints = "".join(f'printf("%lu\\n", (unsigned long)({name}));' for name in expected)
    heads = "".join(f"#include <{name}.h>\n" for name in ("linux/vfio", "stddef", "stdio"))
    (tmp_path / "ask.cpp").write_text(f"{heads}int main() {{ {prints} }}\n")
    result = subprocess.check_output(
        "g++ -o ask ask.cpp && ./ask", shell=True, cwd=tmp_path
    ).split()
    assert dict(zip(expected, map(int, result), strict=True)) == expected


class Kernel:
    """Answers the calls of vfio for a card whose registers are the file ``device``."""

    CONTAINER, GROUP = 100, 101

    def __init__(self, tmp_path):
        self.path = tmp_path / "device"
        self.path.write_bytes(bytes(4 * mmap.PAGESIZE))
        self.device = os.open(self.path, os.O_RDWR)
        self.viable, self.calls, self.closed = 1, [], []

    def open(self, path, _):
        names = {"/dev/vfio/vfio": self.CONTAINER, "/dev/vfio/17": self.GROUP}
        if path not in names:
            raise FileNotFoundError(2, "No such file or directory")
        return names[path]

    def ioctl(self, file, call, argument):
        self.calls.append(
            (file, call, bytes(argument) if isinstance(argument, bytearray) else argument)
        )
        if call == vfio.GROUP_STATUS:
            argument[:] = struct.pack("=II", 8, self.viable)
        elif call == vfio.DEVICE_FD:
            return self.device
        elif call == vfio.REGION_INFO:
            index = struct.unpack("=IIIIQQ", argument)[2]
            at = {0: mmap.PAGESIZE, 7: 3 * mmap.PAGESIZE}[index]
            argument[:] = struct.pack("=IIIIQQ", 32, 7, index, 0, mmap.PAGESIZE, at)
        return 0

    def command(self):
        return struct.unpack_from("<H", self.path.read_bytes(), 3 * mmap.PAGESIZE + 4)[0]


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    built = Kernel(tmp_path)
    system = SimpleNamespace(
        open=built.open,
        close=built.closed.append,
        eventfd=os.eventfd,
        read=os.read,
        readlink=lambda path: f"../../kernel/iommu_groups/{17 if '0000:01' in path else 18}",
        pread=os.pread,
        pwrite=os.pwrite,
        path=os.path,
        O_RDWR=os.O_RDWR,
    )
    monkeypatch.setattr(vfio, "os", system)
    monkeypatch.setattr(vfio, "ioctl", built.ioctl)
    yield built
    os.close(built.device)


def mapped(file, offset, size):
    """Return a window of registers of an open file, as a driver has it."""
    return driver_module(worker_registers(WorkerParams())).MappedBus(file, offset, size)


def test_a_card_that_sees_memory(kernel):
    with vfio.opened(mapped, "0000:01:00.0", 2 * mmap.PAGESIZE, None) as card:
        assert kernel.command() == 4
        card.write(8, 0x12345678)
        assert card.read(8) == 0x12345678
        card.write_memory(mmap.PAGESIZE - 2, b"abcd")
        assert card.read_memory(mmap.PAGESIZE - 3, 6) == b"\0abcd\0"
        for address, size in ((2 * mmap.PAGESIZE - 1, 2), (-1, 1)):
            with pytest.raises(ValueError, match="sees 8192 bytes"):
                card.read_memory(address, size)
    assert kernel.path.read_bytes()[mmap.PAGESIZE + 8 :][:4] == bytes.fromhex("78563412")
    assert kernel.command() == 0
    (mapping,) = (argument for _, call, argument in kernel.calls if call == vfio.MAP_DMA)
    size, flags, _, address, length = struct.unpack("=IIQQQ", mapping)
    assert (size, flags, address, length) == (32, 3, 0, 2 * mmap.PAGESIZE)
    order = [call for _, call, _ in kernel.calls]
    assert order[:5] == [
        vfio.GROUP_STATUS,
        vfio.SET_CONTAINER,
        vfio.SET_IOMMU,
        vfio.DEVICE_FD,
        vfio.MAP_DMA,
    ]
    assert kernel.calls[3][2] == b"0000:01:00.0\0"
    assert {*kernel.closed} == {kernel.CONTAINER, kernel.GROUP, kernel.device}


def test_an_interrupt_is_waited_for(kernel):
    with vfio.opened(mapped, "0000:01:00.0", mmap.PAGESIZE, None, interrupts=True) as card:
        ((file, argument),) = (
            (file, argument) for file, call, argument in kernel.calls if call == vfio.SET_IRQS
        )
        size, flags, kind, first, count, event = struct.unpack("=IIIIIi", argument)
        assert (file, size, flags, kind, first, count) == (
            kernel.device,
            24,
            1 << 2 | 1 << 5,
            2,
            0,
            1,
        )
        assert not card.wait_interrupt(0)
        for _ in range(2):
            os.eventfd_write(event, 1)
        assert card.wait_interrupt(5)
        assert not card.wait_interrupt(0)
    assert event in kernel.closed
    os.close(event)
    with (
        vfio.opened(mapped, "0000:01:00.0", mmap.PAGESIZE, None) as card,
        pytest.raises(DeviceError, match="opened without interrupts"),
    ):
        card.wait_interrupt(0)


def test_a_card_that_cannot_be_had(kernel):
    def opened(address, ready=None):
        with vfio.opened(mapped, address, mmap.PAGESIZE, ready):
            pass

    with pytest.raises(DeviceError, match=r"cannot open 0000:02:00\.0: No such file"):
        opened("0000:02:00.0")
    with pytest.raises(DeviceError, match="memory is not ready"):
        opened("0000:01:00.0", (8, 0))
    kernel.viable = 0
    with pytest.raises(DeviceError, match="group 17 are bound to vfio-pci"):
        opened("0000:01:00.0")
    assert kernel.closed.count(kernel.CONTAINER) == 3
