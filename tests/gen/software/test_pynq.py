"""Tests how a host package reaches a kernel by PYNQ: on a stand-in, with registers in Python."""

import sys
from types import SimpleNamespace

import pytest
from cocotbext.axi.sparse_memory import SparseMemory

from sim.host import xrt
from sim.host.device import DeviceError
from tests.gen.software import pynq

PARTS = ("kernel", "pointer_words_low", "pointer_words_high")
KERNEL = xrt.Kernel(
    name="worker_kernel",
    managers=("words",),
    banks=("HBM[3]",),
    most=(1 << 28,),
    beat=32,
    reserved={},
    identity=7,
    fields={name: (0x1000 + 4 * k, 0, 32) for k, name in enumerate(PARTS)},
)


class Card:
    def __init__(self, kernel=KERNEL.name):
        self.kernel, self.memory = kernel, SparseMemory(1 << 40)
        self.words = dict.fromkeys((0x1004, 0x1008), 0) | {0x1000: 7}
        self.registers = SimpleNamespace(read=self.words.get, write=self.words.__setitem__)

    def read(self, address, size):
        return bytes(self.memory[address : address + size])

    def write(self, address, data):
        self.memory[address : address + len(data)] = data

    @property
    def place(self):
        """Return where the kernel believes its buffer to be."""
        return self.words[0x1004] | self.words[0x1008] << 32


@pytest.fixture(autouse=True)
def cards(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynq", pynq)
    monkeypatch.setattr(pynq.Device, "devices", [Card("another"), Card()])
    pynq.freed.clear()
    pynq.closed.clear()
    return pynq.Device.devices


def test_buffers_reach_the_card_and_grow(cards):
    with xrt.opened("pynq:f.xclbin@1", KERNEL) as opened:
        opened.write_memory(100, b"content")
        before = cards[1].place
        assert before >> 28 == 3
        assert cards[1].read(before + 100, 7) == b"content"
        cards[1].write(before + 104, b"own")
        opened.write_memory(1 << 20, b"more")
        after = cards[1].place
        assert after != before
        assert cards[1].read(after + 100, 7) == b"contown"
        cards[1].write(after + 1, b"by the kernel")
        assert opened.read_memory(0, 14) == b"\0by the kernel"
        with pytest.raises(DeviceError, match=r"no room for 33554432 bytes in HBM\[3\]: Allocate"):
            opened.write_memory((1 << 25) - 1, b"x")
    assert pynq.freed == [3]
    assert len(pynq.closed) == 1


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("pynq:f.xclbin", "cannot load f.xclbin into card 0: there is no 'worker_kernel'"),
        ("pynq:f.xclbin@2", "into card 2: list index out of range"),
        ("pynq:f.xclbin@0000:65:00.1", "into card 0000:65:00.1: invalid literal"),
    ],
)
def test_what_pynq_does_not_have_is_an_error(place, error):
    with pytest.raises(DeviceError, match=error), xrt.opened(place, KERNEL):
        pass


def test_another_kernel_or_no_pynq_is_an_error(cards, monkeypatch):
    cards[1].words[0x1000] = 8
    with (
        pytest.raises(DeviceError, match="another kernel: it reads 0x8"),
        xrt.opened("pynq:f.xclbin@1", KERNEL),
    ):
        pass
    assert len(pynq.closed) == 1
    monkeypatch.setitem(sys.modules, "pynq", None)
    with (
        pytest.raises(DeviceError, match="PYNQ's module pynq is missing"),
        xrt.opened("pynq:f.xclbin", KERNEL),
    ):
        pass


def test_a_memory_that_the_xclbin_does_not_use_is_an_error(monkeypatch):
    monkeypatch.setattr(pynq, "CHANNELS", (0,))
    with (
        xrt.opened("pynq:f.xclbin@1", KERNEL) as opened,
        pytest.raises(DeviceError, match=r"HBM\[3\]: 'Overlay' object has no attribute 'HBM3'"),
    ):
        opened.write_memory(0, b"x")
