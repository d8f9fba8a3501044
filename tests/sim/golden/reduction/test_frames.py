from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.golden.reduction.allreduce import Packet
from sim.golden.reduction.frames import Quality, WireFrame, judge
from tests.rejects import rejects

ADDRESS = bytes.fromhex("021122334455")
FRAME = WireFrame(
    destination=ADDRESS,
    source=bytes.fromhex("06aabbccddee"),
    is_agg=True,
    bm=0x01020304,
    job=0x0506,
    epoch=0x0708,
    seq=0x090A,
    use=0x0B,
    payload=(1, -1, 1 << 30, -(1 << 31), (1 << 31) - 1, 0, 258, -2),
)
WIRE = bytes.fromhex(
    "021122334455 06aabbccddee 88b5 02 01 04030201 0605 0807 0a09 0b 00"
    "01000000 ffffffff 00000040 00000080 ffffff7f 00000000 02010000 feffffff"
)


def test_a_frame_byte_by_byte():
    assert FRAME.to_bytes() == WIRE
    assert WireFrame.from_bytes(WIRE) == FRAME
    assert replace(FRAME, is_agg=False, acked=True, no_flags=0x3F).to_bytes()[15] == 0xFE
    assert FRAME.packet == Packet(True, 0x01020304, 0x0B, False, FRAME.payload)


@given(st.binary(min_size=60, max_size=60))
def test_any_60_bytes_are_kept(wire):
    assert WireFrame.from_bytes(wire).to_bytes() == wire


test_rejects_what_does_not_fit = rejects(
    lambda **fields: replace(FRAME, **fields).to_bytes(),
    ({"destination": bytes(5)}, "addresses are six bytes"),
    ({"source": bytes(7)}, "addresses are six bytes"),
    ({"no_flags": 64}, "no_flags six bits"),
    ({"ethertype": 1 << 16}, "0 <= number <= 65535: .*ethertype=65536"),
    ({"version": 256}, "0 <= number <= 255: .*version=256"),
    ({"bm": 1 << 32}, "0 <= number <= 4294967295: .*bm=4294967296"),
    ({"use": -1}, "0 <= number <= 255: .*use=-1"),
    ({"payload": (0,) * 7}, "19 items for packing .got 18"),
    ({"payload": (1 << 31,) + (0,) * 7}, "-2147483648 <= number <= 2147483647: "),
)


def test_rejects_other_lengths():
    with pytest.raises(ValueError, match="60 bytes: 59"):
        WireFrame.from_bytes(WIRE[:-1])


@pytest.mark.parametrize(
    ("wire", "quality"),
    [
        (WIRE, Quality.GOOD),
        (replace(FRAME, is_agg=False, acked=True).to_bytes(), Quality.GOOD),
        (WIRE[:59], Quality.MALFORMED),
        (WIRE + bytes(1), Quality.MALFORMED),
        (WIRE + bytes(100), Quality.MALFORMED),
        (replace(FRAME, no_flags=1).to_bytes(), Quality.MALFORMED),
        (replace(FRAME, saturated=1).to_bytes(), Quality.GOOD),
        (WIRE[:14], Quality.MALFORMED),
        (bytes(14), Quality.MALFORMED),
        (bytes(15), Quality.FOREIGN),
        (WIRE[:15], Quality.MALFORMED),
        (replace(FRAME, destination=bytes(6)).to_bytes(), Quality.FOREIGN),
        (replace(FRAME, ethertype=0x0800).to_bytes(), Quality.FOREIGN),
        (replace(FRAME, version=1, no_flags=1).to_bytes(), Quality.FOREIGN),
        (replace(FRAME, version=1).to_bytes() + bytes(100), Quality.FOREIGN),
    ],
)
def test_judges(wire, quality):
    assert judge(wire, False, ADDRESS) is quality
    assert judge(wire, True, ADDRESS) is Quality.CORRUPT
    assert str(quality) in ("good", "malformed", "foreign", "corrupt")
