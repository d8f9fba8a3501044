"""What stands for a card or reaches one: registers, memory, and what can go wrong with them."""

import os

import pytest

from gen.software.emitted import xdma
from gen.software.emitted.device import DeviceError
from gen.software.emitted.fake import Fake
from gen.software.emitted.sparse_memory import PAGE, SparseMemory
from gen.software.emitted.xdma import Xdma


@pytest.fixture
def prefix(tmp_path):
    for name in ("h2c_0", "c2h_0"):
        (tmp_path / f"card_{name}").write_bytes(b"")
    return str(tmp_path / "card")


def some(*numbers):
    """What a system call does, one number of bytes at a call."""
    return iter(numbers)


def test_memory_keeps_bytes_across_pages():
    memory = SparseMemory()
    memory.write(3 * PAGE - 2, b"abcd")
    assert memory.read(3 * PAGE - 3, 6) == b"\0abcd\0"
    memory.write(0, bytes(range(256)) * (2 * PAGE // 256))
    assert memory.read(PAGE - 1, 2) == b"\xff\0"


def test_a_fake_tells_of_writes():
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
    def mapped(*_):
        raise ValueError("mmap length is greater than file size")

    with (
        pytest.raises(DeviceError, match=r"cannot open .*card_user: mmap length is greater"),
        xdma.opened(mapped, prefix, None),
    ):
        pass
