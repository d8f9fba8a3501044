"""Switches whose core holds priorities: the forwarding switch and the switch for every system."""

import pytest

from gen.base.errors import UserError
from gen.base.settings import make_params
from gen.board.boards import find_board
from tests.hdl.u280.board_checks import check_board
from tests.hdl.u280.board_table import switch_table
from tests.long import short_and_long

#: a simulated card of the latter is in tests/sim/surroundings/card
DESIGNS = short_and_long(["forwarding-switch", "network-switch"], ["forwarding-switch"])


def top_of(name, preset="tiny", **changes):
    entry = find_board("u280").find(name)
    settings = entry.settings_of(preset)
    return entry.make(make_params(entry.design.params_class, settings, changes))


@pytest.fixture(params=DESIGNS)
def board(request):
    return top_of(request.param)


def test_both_cages_and_their_priorities(board):
    check_board(board)
    names = ["board_clocks", "core_clock", "pcie4c_block", "register_decoder", "cmac_0", "cmac_1"]
    assert [ip.name for ip in board.vendor_ips] == names
    assert {cage.flow for cage in board.cages} == {"priorities"}


def test_wires(board, tmp_path):
    ways = [[(f"core.m_axis_{k}", f"core.s_axis_{k}")] for k in range(2)]
    switch_table(board, ways).check(tmp_path)


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("forwarding-switch", "headroom"),
        ("network-switch", "forwarding.headroom"),
        ("network-switch", "lossless.headroom"),
    ],
)
def test_too_little_room_behind_a_pause_is_refused(name, parameter):
    with pytest.raises(UserError, match=rf"{parameter} must be at least 2112 .*: 2111"):
        top_of(name, **{parameter: 2111})
