"""Checks that the speed-up of parts is that of two cores, by hand."""

import pytest

from sim.bench.limits import Limit
from sim.bench.speed_up import speed_up_row


@pytest.mark.parametrize(
    ("used", "value"),
    [([3.0, 1.0, 2.0], 4.0), ([5.0, 1.0], 2.4), ([3.0, 3.0], 4.0)],
)
def test_two_cores_share_the_parts_or_wait_for_the_longest(used, value):
    row = speed_up_row("990 cycles", 12.0, used, limit=Limit(3.0, at_least=True), note="the same")
    assert row.value == value
    assert row.holds is (value >= 3)
    assert row.what == "speed-up on two cores, 990 cycles"
    assert row.note.startswith("by CPU seconds: 12.0 of the whole, ")
    assert row.note.endswith(f"at most {max(used):.1f} of one; the same")
    assert speed_up_row("990 cycles", 12.0, used).note.endswith(" of one")
