import pytest

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS
from hdl.u280.switchgnn_switch_board import GnnSwitchBoard
from tests.hdl.u280.board_checks import check_board

TINY = GnnSwitchParams(**{**PRESETS["tiny"], "ports": 2})


def test_both_cages():
    board = GnnSwitchBoard(TINY)
    emission = check_board(board)
    assert "assign hbm_cattrip = 1'h0;" in emission.top.verilog
    assert [ip.name for ip in board.vendor_ips if "cmac" in ip.vlnv] == ["cmac_0", "cmac_1"]


def test_more_ports_than_cages_are_refused():
    with pytest.raises(ValueError, match="ports must be 2 on this board, which has as many cages"):
        GnnSwitchBoard(GnnSwitchParams())
