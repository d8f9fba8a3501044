"""Carries writes of the golden model out on memory, and checks their limits."""

import random

import pytest

from sim.golden.pcie_requester import PAGE, PAYLOAD_SIZES
from sim.golden.pcie_writes import writes


@pytest.mark.parametrize("most", PAYLOAD_SIZES)
def test_every_byte_is_written_once(most):
    chance = random.Random(most)
    for size in [*range(1, 12), most - 1, most, most + 1, 4096]:
        for offset in [*range(8), most - 5, most - 1, PAGE - 3]:
            payload = chance.randbytes(size)
            memory: dict[int, int] = {}
            for write in writes(offset, payload, most):
                assert write.address % 4 == 0
                assert write.address // most == (write.address + 4 * len(write.dwords) - 1) // most
                for k, dword in enumerate(write.dwords):
                    for place, byte in dword.items():
                        at = write.address + 4 * k + place
                        assert at not in memory
                        memory[at] = byte
            assert memory == dict(enumerate(payload, offset))


@pytest.mark.parametrize(
    ("address", "size", "enables"),
    [
        (0x1000, 4, (0b1111, 0)),
        (0x1001, 2, (0b0110, 0)),
        (0x1003, 1, (0b1000, 0)),
        (0x1003, 2, (0b1000, 0b0001)),
        (0x1002, 9, (0b1100, 0b0111)),
        (0x1000, 8, (0b1111, 0b1111)),
    ],
)
def test_byte_enables(address, size, enables):
    """They are as the tables of 2.2.5 have them, by hand."""
    (write,) = writes(address, bytes(size), 128)
    assert write.byte_enables == enables


def test_a_payload_that_there_is_not():
    with pytest.raises(ValueError, match="the largest payload must be one of"):
        writes(0, b"1", 64)
