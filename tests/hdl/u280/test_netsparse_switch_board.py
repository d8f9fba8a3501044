from dataclasses import replace

import pytest

from hdl.u280.netsparse_switch_board import NetSparseSwitchBoard
from tests.hdl.netsparse.switch.test_switch import TOR
from tests.hdl.u280.board_checks import check_board


def test_both_cages_with_both_classes():
    board = NetSparseSwitchBoard(replace(TOR, ports=2, pipes=1))
    emission = check_board(board)
    assert "assign hbm_cattrip = 1'h0;" in emission.top.verilog
    assert [ip.name for ip in board.vendor_ips if "cmac" in ip.vlnv] == ["cmac_0", "cmac_1"]
    for cage in range(2):
        for way in ("m", "s"):
            for name in ("reads", "responses"):
                assert f"{way}_axis_{name}_{cage}_tvalid" in emission.top.verilog


def test_more_ports_than_cages_are_refused():
    with pytest.raises(ValueError, match="ports must be 2 on this board, which has as many cages"):
        NetSparseSwitchBoard(TOR)
