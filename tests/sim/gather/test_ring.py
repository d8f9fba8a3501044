"""Tests the golden model of a ring: its bytes, its doorbell, and what its descriptors do."""

import random
from dataclasses import replace

import numpy as np
import pytest

from sim.gather.golden.engine import Completion, Outcome, WorkRequest
from sim.gather.golden.ring import (
    DESCRIPTOR_BYTES,
    Descriptor,
    Ring,
    carry_out_all,
    pack,
    unpack,
)
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
        changed = (
            bytes(octets[:byte]) + bytes([octets[byte] ^ 1 << bit]) + bytes(octets[byte + 1 :])
        )
        result = unpack(changed)
        assert result.malformed == bool(int(bits, 16) >> bit & 1), bit
        assert not result.malformed or result.request == REQUEST


def test_what_a_doorbell_reports():
    ring = Ring(256, 4)
    host = np.zeros(1024, np.uint8)
    for place in range(4):
        at = ring.place(place)
        octets = pack(replace(REQUEST, tag=place))
        host[at : at + DESCRIPTOR_BYTES] = np.frombuffer(octets, np.uint8)
    assert [ring.place(index) for index in (0, 3, 4, 65535)] == [256, 448, 256, 448]

    def tags(taken, doorbell):
        result = ring.fetched(host, taken, doorbell)
        return None if result is None else [item.request.tag for item in result]

    assert tags(0, 0) == []
    assert tags(0, 4) == [0, 1, 2, 3]
    assert tags(0, 5) is None
    assert tags(3, 2) is None
    assert tags(65534, 2) == [2, 3, 0, 1]


def test_descriptors_are_carried_out_as_requests_of_registers():
    rng = random.Random(1)
    host = np.frombuffer(rng.randbytes(512), np.uint8).copy()
    host[:8] = np.array([3, 1], "<u4").view(np.uint8)
    device = np.zeros(256, np.uint8)
    table = Table(base=64, rows=4, row_bytes=8, stride=8)
    good = WorkRequest(idx_address=0, count=2, table=table, destination=16, tag=7)
    wrong = replace(good, order=3, tag=8)
    built = [Descriptor(good), Descriptor(replace(good, destination=32, tag=6), malformed=True)]
    result = carry_out_all(host, device, [*built, Descriptor(wrong)])
    assert result == [
        Completion(7, Outcome.DONE, 0),
        Completion(6, Outcome.ILLEGAL, 0),
        Completion(8, Outcome.ILLEGAL, 0),
    ]
    assert device[16:32].tobytes() == host[88:96].tobytes() + host[72:80].tobytes()
    assert not device[32:].any()
