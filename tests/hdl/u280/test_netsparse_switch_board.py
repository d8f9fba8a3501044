from dataclasses import replace

import pytest

from hdl.u280.netsparse_switch_board import NetSparseSwitchBoard
from tests.hdl.netsparse.switch.test_switch import TOR
from tests.hdl.u280.board_checks import check_board
from tests.hdl.u280.board_table import board_table


def test_both_cages_with_both_classes():
    board = NetSparseSwitchBoard(replace(TOR, ports=2, pipes=1))
    check_board(board)
    assert [ip.name for ip in board.vendor_ips] == [
        "board_clocks",
        "pcie4c_block",
        "register_decoder",
        "cmac_0",
        "cmac_1",
    ]


def test_wires(tmp_path):
    ways = [
        [(f"core.m_axis_{name}_{k}", f"core.s_axis_{name}_{k}") for name in ("reads", "responses")]
        for k in range(2)
    ]
    table = board_table(NetSparseSwitchBoard(replace(TOR, ports=2, pipes=1)), ways)
    table.bus("pcie.rq", "nobody")
    table.bus("pcie.rc", "nobody")
    table.wire(pcie={"function_done": "pcie.function_in_process"})
    table.wire(board_status={"request": 0})
    table.check(tmp_path)


def test_more_ports_than_cages_are_refused():
    with pytest.raises(ValueError, match="ports must be 2 on this board, which has as many cages"):
        NetSparseSwitchBoard(TOR)
