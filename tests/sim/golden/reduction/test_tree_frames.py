from hypothesis import given
from hypothesis import strategies as st

from sim.golden.reduction.frames import BYTES, WireFrame
from sim.golden.reduction.tree_frames import long_frame, may_come_down, may_go_up, read

TOP = (1 << 36) - 1
LOW = -1 - TOP
SUMS = (1, -1, TOP, LOW, 1 << 32, -(1 << 32) - 5, 0, 0x1_8000_0000)


def test_a_long_frame_byte_by_byte():
    """The high five bits are 0, 31, 15, 16, 1, 30, 0 and 1."""
    wire = long_frame(WireFrame(is_agg=True, use=7), SUMS)
    assert len(wire) == 64
    high = sum(value << 5 * k for k, value in enumerate((0, 31, 15, 16, 1, 30, 0, 1)))
    assert wire[27:28] + wire[60:] == high.to_bytes(5, "little")
    low = "01000000 ffffffff ffffffff 00000000 00000000 fbffffff 00000000 00000080"
    assert wire[28:60] == bytes.fromhex(low)
    frame, long = read(wire)
    assert long
    assert frame == WireFrame(is_agg=True, use=7, payload=SUMS)


@given(st.lists(st.integers(LOW, TOP), min_size=8, max_size=8).map(tuple))
def test_sums_are_kept(sums):
    assert read(long_frame(WireFrame(), sums))[0].payload == sums
    wrapped = long_frame(WireFrame(), [value + (5 << 37) for value in sums])
    assert read(wrapped)[0].payload == sums


@given(st.binary(min_size=60, max_size=60))
def test_short_frames_are_those_of_p4sgd(wire):
    assert read(wire) == (WireFrame.from_bytes(wire), False)
    assert len(wire) == BYTES


def test_ways():
    """Short frames and long ones may go up or come down, as stated."""
    ways = {
        # is_agg, acked, clamped: short up, short down, long up
        (True, False, 0): (True, True, True),
        (True, False, 5): (False, True, True),
        (False, False, 0): (True, False, False),
        (False, False, 5): (False, False, False),
        (False, True, 0): (False, True, False),
        (False, True, 5): (False, False, False),
        (True, True, 0): (False, True, False),
        (True, True, 5): (False, False, False),
    }
    for (is_agg, acked, saturated), (up, down, long_up) in ways.items():
        frame = WireFrame(is_agg=is_agg, acked=acked, saturated=saturated)
        assert (may_go_up(frame, False), may_come_down(frame, False)) == (up, down)
        assert not may_come_down(frame, True)
        assert may_go_up(frame, True) == (long_up and not acked)
