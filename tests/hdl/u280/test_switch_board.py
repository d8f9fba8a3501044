import pytest

from hdl.p4sgd.switch.params import SwitchParams
from hdl.u280.switch_board import SwitchBoard
from tests.hdl.u280.board_checks import check_board

TINY = SwitchParams(ports=2, slots=256, jobs=2, ingress_depth=64)


def test_both_cages():
    board = SwitchBoard(TINY)
    emission = check_board(board)
    assert "assign hbm_cattrip = 1'h0;" in emission.top.verilog
    assert [ip.name for ip in board.vendor_ips if "cmac" in ip.vlnv] == ["cmac_0", "cmac_1"]


def test_more_ports_than_cages_are_refused():
    with pytest.raises(ValueError, match="ports must be 2 on this board, which has as many cages"):
        SwitchBoard(SwitchParams(ports=8))
