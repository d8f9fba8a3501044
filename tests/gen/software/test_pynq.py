"""Tests what a host package says where PYNQ, a card or a kernel is missing, on a stand-in.

That it trains by PYNQ is tested on the RTL: ``tests/hdl/vitis/test_worker_kernel.py``.
"""

import sys
from types import SimpleNamespace

import pytest

from sim.host.device import DeviceError
from sim.host.pynq_overlay import overlay_of
from tests.gen.software import pynq


@pytest.fixture(autouse=True)
def cards(monkeypatch):
    registers = SimpleNamespace(read=hex, write=None)
    devices = [SimpleNamespace(kernel=name, registers=registers) for name in ("other", "kernel")]
    monkeypatch.setitem(sys.modules, "pynq", pynq)
    monkeypatch.setattr(pynq.Device, "devices", devices)
    pynq.freed.clear()


@pytest.mark.parametrize(
    ("card", "error"),
    [
        ("0", "cannot load f.xclbin into card 0: there is no 'kernel'"),
        ("2", "into card 2: list index out of range"),
        ("0000:65:00.1", "into card 0000:65:00.1: invalid literal"),
    ],
)
def test_what_pynq_does_not_have_is_an_error(card, error):
    with pytest.raises(DeviceError, match=error), overlay_of("f.xclbin", card, "kernel"):
        pass


def test_no_pynq_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynq", None)
    with pytest.raises(DeviceError, match="pynq is missing"), overlay_of("f", "1", "kernel"):
        pass


def test_what_was_opened_is_freed():
    with overlay_of("f.xclbin", "1", "kernel") as (bus, allocate):
        assert bus.read(7) == "0x7"
        kept = [allocate(1, "HBM[10]"), allocate(1, "HBM[21]")]
        allocate(1, "HBM[0]")  # nobody has it: PYNQ frees it by itself
        for size, bank, error in ((1 << 25, "HBM[0]", "Allocate"), (1, "HBM[3]", "no attribute")):
            with pytest.raises(DeviceError, match=rf"{size} bytes in HBM\[\d\]: .*{error}"):
                allocate(size, bank)
    *channels, overlay = pynq.freed
    assert (channels, type(overlay), len(kept)) == ([10, 21], pynq.Overlay, 2)
