import pytest

from hdl.p4sgd.switch.params import SwitchParams
from hdl.u280.switch_board import SwitchBoard
from tests.hdl.u280.board_checks import check_board
from tests.hdl.u280.board_table import switch_table

TINY = SwitchParams(ports=2, slots=256, jobs=2, ingress_depth=64)


def test_both_cages():
    board = SwitchBoard(TINY)
    check_board(board)
    names = ["board_clocks", "core_clock", "pcie4c_block", "register_decoder", "cmac_0", "cmac_1"]
    assert [ip.name for ip in board.vendor_ips] == names


def test_wires(tmp_path):
    ways = [[(f"core.m_axis_{k}", f"core.s_axis_{k}")] for k in range(2)]
    table = switch_table(SwitchBoard(TINY), ways)
    table.check(tmp_path)


def test_more_ports_than_cages_are_refused():
    with pytest.raises(ValueError, match="ports must be 2 on this board, which has as many cages"):
        SwitchBoard(SwitchParams(ports=8))
