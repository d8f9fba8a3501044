"""Stands for XRT's module ``pyxrt``: the part of it that host packages use, over simulated cards.

Names and arguments are those of XRT's src/python/pybind11/src/pyxrt.cpp. A test says in ``cards``
what memory each card's number has: an object with ``read(address, size)`` and ``write(address,
data)``. ``Ip`` stands for ``xrt::ip``, which the real module does not have.
"""

from enum import Enum
from itertools import count

import numpy as np

CHANNEL_BYTES = 1 << 28
HOST = 32  #: the group of host memory, behind those of HBM's channels
cards = {}  #: memory by a card's number
loaded = []  #: files that were loaded
xclBOSyncDirection = Enum(
    "xclBOSyncDirection", ["XCL_BO_SYNC_BO_TO_DEVICE", "XCL_BO_SYNC_BO_FROM_DEVICE"]
)
places = count(1)


class uuid:
    def to_string(self):
        return "01234567-89ab-cdef-0123-456789abcdef"


class mem:
    def __init__(self, index):
        self.index = index

    def get_tag(self):
        return "HOST[0]" if self.index == HOST else f"HBM[{self.index}]"

    def get_index(self):
        return self.index


class xclbin:
    def __init__(self, path):
        assert path in loaded

    def get_mems(self):
        return [mem(k) for k in range(HOST + 1)]


class device:
    def __init__(self, index):
        if index not in cards:
            raise RuntimeError(f"Could not open device with index '{index}'")
        self.memory = cards[index]

    def load_xclbin(self, path):
        loaded.append(path)
        return uuid()


class bo:
    flags = Enum("flags", ["normal", "host_only"])

    def __init__(self, device, size, flags, group):
        assert flags is (bo.flags.host_only if group == HOST else bo.flags.normal)
        if size > CHANNEL_BYTES >> 4:
            raise RuntimeError("Cannot allocate memory")
        self.memory, self.held = device.memory, bytearray(size)
        # no two buffers of a bank are at one place, and none begins where the bank does
        self.place = group * CHANNEL_BYTES + next(places) % 15 * (CHANNEL_BYTES >> 4)

    def size(self):
        return len(self.held)

    def address(self):
        return self.place

    def write(self, data, seek):
        self.held[seek : seek + len(data)] = data

    def read(self, size, skip):
        return np.frombuffer(self.held[skip : skip + size], np.int8)

    def sync(self, way, size=None, offset=0):
        size = len(self.held) - offset if size is None else size
        if way is xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE:
            self.memory.write(self.place + offset, bytes(self.held[offset : offset + size]))
        else:
            self.held[offset : offset + size] = self.memory.read(self.place + offset, size)
