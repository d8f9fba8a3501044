from dataclasses import replace

import pytest

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS
from hdl.u280.switchgnn_switch_board import GnnSwitchBoard
from tests.hdl.u280.board_checks import check_board, hbm_ports
from tests.hdl.u280.board_table import add_bus, board_table

TINY = GnnSwitchParams(**{**PRESETS["tiny"], "ports": 2})


def test_both_cages():
    board = GnnSwitchBoard(TINY)
    check_board(board)
    assert [ip.name for ip in board.vendor_ips if "cmac" in ip.vlnv] == ["cmac_0", "cmac_1"]


def test_more_ports_than_cages_are_refused():
    with pytest.raises(ValueError, match="ports must be 2 on this board, which has as many cages"):
        GnnSwitchBoard(GnnSwitchParams())


def test_a_single_register_between_dies_is_refused():
    with pytest.raises(ValueError, match="slr_stages must be at least 2 on this board"):
        GnnSwitchBoard(replace(TINY, slr_stages=1))


def test_tables_in_memory():
    board = GnnSwitchBoard(replace(TINY, tables="memory", table_ports=2))
    check_board(board)
    # Two ports of tables and the host's; the second stack needs one as well.
    assert hbm_ports(board) == [0, 1, 2, 16]


def test_wires(tmp_path):
    ways = [[(f"core.m_axis_{k}", f"core.s_axis_{k}")] for k in range(2)]
    board = GnnSwitchBoard(replace(TINY, tables="memory", table_ports=2))
    table = board_table(board, ways, resets=False)
    for k in range(2):
        table.bus(f"core.m_axi_tables_{k}", f"memory.port_{k}")
    add_bus(table, "dma_hbm", "memory.port_2")
    table.wire(board_status={"request": 0})
    table.check(tmp_path)


def test_a_table_port_that_reaches_beyond_its_channel_is_refused():
    with pytest.raises(ValueError, match="table_address_bits must be at most 28 on this board"):
        GnnSwitchBoard(replace(TINY, tables="memory", table_address_bits=30))
