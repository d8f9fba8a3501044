"""Stands for the package ``pynq``: the part of it that host packages use, over simulated cards.

Names and arguments are those of release 3.0.1 (``pynq/overlay.py``, ``buffer.py``,
``pl_server/xrt_device.py``, ``xclbin_parser.py``). A test says in ``Device.devices`` what cards
there are: each has the name of its ``kernel``, its ``registers``, and memory as ``pyxrt.cards`` has
it. ``freed`` counts buffers that were freed, ``closed`` the overlays.
"""

import numpy as np

from tests.gen.software.pyxrt import CHANNEL_BYTES

CHANNELS = (0, 3, 10, 21)  #: of HBM, which the xclbin uses
freed, closed = [], []


class Device:
    devices = []


class DefaultIP:
    def __init__(self, registers):
        self._registers = registers

    def read(self, offset=0):
        return np.uint32(self._registers.read(offset))

    def write(self, offset, value):
        assert type(value) in (int, bytes), "Data type must be int or bytes."
        self._registers.write(offset, value)


class XrtMemory:
    def __init__(self, device, idx):
        self.device, self.idx = device, idx

    def allocate(self, shape, dtype):
        array = PynqBuffer(shape, np.dtype(dtype), buffer=bytearray(np.prod(shape)))
        if array.nbytes > CHANNEL_BYTES >> 4:
            raise RuntimeError("Allocate failed: 4294967295")
        array.card, array.memory = self.device, self
        self.device.places = getattr(self.device, "places", 0) + 1
        array.device_address = self.idx * CHANNEL_BYTES + self.device.places * (CHANNEL_BYTES >> 4)
        return array


class PynqBuffer(np.ndarray):
    def __array_finalize__(self, of):
        if isinstance(of, PynqBuffer):
            self.card = of.card
            moved = self.__array_interface__["data"][0] - of.__array_interface__["data"][0]
            self.device_address = of.device_address + moved

    def sync_to_device(self):
        self.card.write(self.device_address, self.tobytes())

    def sync_from_device(self):
        self[:] = np.frombuffer(self.card.read(self.device_address, self.nbytes), self.dtype)

    def freebuffer(self):
        freed.append(self.memory.idx)


class Overlay:
    def __init__(self, bitfile_name, device=None):
        self.device, name = device, "unit_0"
        self.ip_dict = {name: {"cu_name": f"{device.kernel}:{name}", "phys_addr": 0x1800000}}
        setattr(self, name, DefaultIP(device.registers))
        for channel in CHANNELS:
            setattr(self, f"HBM{channel}", XrtMemory(device, channel))

    def free(self):
        closed.append(self)


def allocate(shape, dtype="u4", target=None):
    return target.allocate(shape, dtype)
