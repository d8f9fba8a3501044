import pytest

from hdl.u280.flow_control import (
    PAUSE_QUANTA,
    REFRESH_QUANTA,
    TIED,
    FlowControlParams,
    enabled,
)
from sim.golden.flow_control import max_words
from tests.rejects import rejects

LINKS = [
    FlowControlParams(),
    FlowControlParams(frame_bytes=1504, fibre_metres=3),
    FlowControlParams(frame_bytes=9600, fibre_metres=450),
]


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_headroom_is_the_worst_that_the_rules_permit(link):
    worst = max_words(link.blind_bits, link.frame_bytes - 4)
    # With a word less inside when the pause is asked for, the last packet would find no room.
    assert link.headroom == worst
    assert link.stop_above + 1 + worst == link.beats - 2


def test_a_hundred_metres():
    link = FlowControlParams()
    assert (link.blind_bits, link.headroom) == (506_042, 1565)
    assert (link.stop_above, link.resume_at) == (2528, 1264)


test_rejects = rejects(
    FlowControlParams,
    ({"beats": 1024}, "beats must be more than 1709 for a link of 100 m: 1024"),
    ({"fibre_metres": 2000}, "beats must be more than .* for a link of 2000 m"),
)


def test_only_the_classes_are_paused():
    values = enabled([3, 4])
    assert {name: value.value for name, value in values.items()} == {
        "ctl_rx_pause_enable": 0b11000,
        "ctl_tx_pause_enable": 0b11000,
    }
    kinds = {name for name, value in TIED.items() if "rx_enable" in name and value.value}
    assert kinds == {"ctl_rx_enable_pcp", "ctl_rx_enable_ppp"}


def test_a_pause_is_refreshed_in_time():
    """Two refreshes may be lost, each sent after a packet of the longest kind."""
    longest_bits = 8 * (16383 + 20)
    assert 3 * (REFRESH_QUANTA * 512 + longest_bits) < PAUSE_QUANTA * 512
