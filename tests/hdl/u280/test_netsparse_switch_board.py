from dataclasses import replace

import pytest

from hdl.u280.netsparse_switch_board import NetSparseSwitchBoard
from tests.hdl.netsparse.switch.bench import TOR
from tests.hdl.u280.board_checks import check_board
from tests.hdl.u280.board_table import switch_table


def test_both_cages_with_both_classes():
    board = NetSparseSwitchBoard(replace(TOR, ports=2, pipes=1))
    check_board(board)
    names = ["board_clocks", "core_clock", "pcie4c_block", "register_decoder", "cmac_0", "cmac_1"]
    assert [ip.name for ip in board.vendor_ips] == names


def test_wires(tmp_path):
    ways = [
        [(f"core.m_axis_{name}_{k}", f"core.s_axis_{name}_{k}") for name in ("reads", "responses")]
        for k in range(2)
    ]
    table = switch_table(NetSparseSwitchBoard(replace(TOR, ports=2, pipes=1)), ways)
    table.check(tmp_path)


def test_more_ports_than_cages_are_refused():
    with pytest.raises(ValueError, match="ports must be 2 on this board, which has as many cages"):
        NetSparseSwitchBoard(TOR)
