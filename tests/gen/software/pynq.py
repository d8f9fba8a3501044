"""Stands for the package ``pynq``: the part of it that host packages use, over simulated cards.

Names and arguments are those of release 3.0.1 (``pynq/overlay.py``, ``buffer.py``,
``pl_server/xrt_device.py``, ``xclbin_parser.py``). A test says in ``Device.devices`` what cards
there are: each has the name of its ``kernel``, ``registers``, and memory as ``pyxrt.cards`` has it.
"""

import numpy as np

from tests.gen.software.pyxrt import CHANNEL_BYTES, places

freed = []  #: channels of buffers that were freed, and overlays


class Device:
    devices = []


class DefaultIP:
    def __init__(self, registers):
        self.read, self.registers = registers.read, registers

    def write(self, offset, value):
        assert type(value) is int, "Data type must be int or bytes."
        self.registers.write(offset, value)


class XrtMemory:
    def __init__(self, device, idx):
        self.device, self.idx = device, idx

    def allocate(self, shape, dtype):
        array = PynqBuffer(shape, np.dtype(dtype), buffer=bytearray(np.prod(shape)))
        if array.nbytes > CHANNEL_BYTES >> 4:
            raise RuntimeError("Allocate failed: 4294967295")
        array.card, array.memory = self.device, self
        array.device_address = self.idx * CHANNEL_BYTES + next(places) % 15 * (CHANNEL_BYTES >> 4)
        return array


class PynqBuffer(np.ndarray):
    def __array_finalize__(self, of):
        if isinstance(of, PynqBuffer):
            moved = self.__array_interface__["data"][0] - of.__array_interface__["data"][0]
            self.card, self.device_address = of.card, of.device_address + moved

    def sync_to_device(self):
        self.card.write(self.device_address, self.tobytes())

    def sync_from_device(self):
        self[:] = np.frombuffer(self.card.read(self.device_address, self.nbytes), self.dtype)

    def freebuffer(self):
        freed.append(self.memory.idx)


class Overlay:
    def __init__(self, bitfile_name, device=None):
        self.ip_dict = {"unit_0": {"cu_name": f"{device.kernel}:unit_0", "phys_addr": 0x1800000}}
        self.unit_0 = DefaultIP(device.registers)
        for channel in (0, 10, 21):  # that the xclbin uses
            setattr(self, f"HBM{channel}", XrtMemory(device, channel))

    def free(self):
        freed.append(self)


def allocate(shape, dtype="u4", target=None):
    return target.allocate(shape, dtype)
