"""Tests the golden model of a ring: where its descriptors are, and what their bytes say."""

import pytest

from sim.gather.golden.engine import WorkRequest
from sim.gather.golden.ring import DESCRIPTOR_BYTES, Descriptor, Ring, pack, unpack
from sim.gather.golden.rows import Table

REQUEST = WorkRequest(
    idx_address=0x0102030405060708,
    count=0x11121314,
    table=Table(base=0x2122232425262728, rows=0x31323334, row_bytes=0x11516, stride=0x14142),
    destination=0x4142434445464748,
    completion_address=0x5152535455565758,
    idx_bytes=8,
    order=2,
    tag=0x6162,
    coalesce=True,
    on_card=True,
    streamed=False,
    posted=True,
)
BYTES = (
    "0807060504030201 2827262524232221 4847464544434241 5857565554535251"
    "14131211 34333231 42410100 16150100 6261 02 01 01 00 01 01" + 8 * "00"
)


def test_a_descriptor_is_64_bytes():
    assert DESCRIPTOR_BYTES == 64
    assert pack(REQUEST) == bytes.fromhex(BYTES)
    assert unpack(bytes.fromhex(BYTES)) == Descriptor(REQUEST)


@pytest.mark.parametrize(
    ("byte", "bits"),
    [(42, "fe"), (43, "ff"), (46, "fe"), (47, "ff"), (50, "fc")]
    + [(byte, "fe") for byte in range(51, 56)]
    + [(byte, "ff") for byte in range(56, 64)],
)
def test_bits_without_a_meaning_are_malformed(byte, bits):
    octets = bytearray(pack(REQUEST))
    for bit in range(8):
        octets[byte] ^= 1 << bit
        result = unpack(bytes(octets))
        octets[byte] ^= 1 << bit
        assert result.malformed == bool(int(bits, 16) >> bit & 1), bit
        assert not result.malformed or result.request == REQUEST


def test_places_are_used_in_turn():
    ring = Ring(256, 4)
    assert [ring.place(index) for index in (0, 3, 4, 65535)] == [256, 448, 256, 448]
