"""Draws what a host sets of a ring in its memory."""

import random

from hdl.common.rings import INDEX_BITS

INDICES = 1 << INDEX_BITS
CLOSED = {"enable": 0, "address": 0, "size": 0, "index": 0}  #: before a host has set any


class RingHost:
    """Has ``ring``: the settings of a ring whose places have ``place_bytes`` bytes each."""

    def __init__(self, place_bytes, address_bits):
        self.place_bytes, self.address_bits = place_bytes, address_bits
        self.ring = dict(CLOSED)

    @property
    def places(self):
        return 1 << self.ring["size"]

    @property
    def is_misplaced(self):
        address = self.ring["address"]
        return address % (self.place_bytes * self.places) != 0 or address >> self.address_bits != 0

    def place(self, index):
        """Return the address of a place that is not misplaced."""
        return self.ring["address"] + self.place_bytes * (index % self.places)

    def draw(self):
        """Draw a ring that is perhaps enabled, and perhaps where none can be."""
        size, bits = random.choice((0, 0, 1, 2, 4, 6, 15)), self.address_bits
        ring_bytes = self.place_bytes << size
        address = random.randrange(1 << bits) // ring_bytes * ring_bytes
        if random.random() < 0.2:
            lowest = ring_bytes.bit_length() - 1
            address |= 1 << random.choice((*range(lowest), *range(bits, 64)))
        self.ring = {"enable": 0, "address": address, "size": size}
        if random.random() < 0.3:
            self.ring |= {"enable": 1, "index": 0}
        else:
            self.close()

    def close(self):
        self.ring |= {"enable": 0, "index": random.getrandbits(INDEX_BITS)}

    def set_index(self, index):
        self.ring["index"] = index % INDICES

    def jump(self, index):
        """Draw how far all indices are to jump if ``index`` is to carry or to wrap soon."""
        step = (1 << random.randrange(INDEX_BITS + 1)) - random.randrange(8) - index
        self.set_index(self.ring["index"] + step)
        return step
