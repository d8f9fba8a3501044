from dataclasses import replace

import pytest

from hdl.switchgnn.endpoint.params import PRESETS
from hdl.u280.switchgnn_endpoint_board import EndpointBoard
from tests.hdl.u280.board_checks import check_board, hbm_ports
from tests.hdl.u280.board_table import add_bus, board_table

TINY = PRESETS["tiny"]


def test_one_cage_and_four_ports_of_hbm():
    board = EndpointBoard(TINY)
    check_board(board)
    assert hbm_ports(board) == [0, 4, 8, 12, 16]  # the second stack needs one as well
    assert [ip.name for ip in board.vendor_ips if "cmac" in ip.vlnv] == ["cmac_0"]


def test_wires(tmp_path):
    table = board_table(EndpointBoard(TINY), [[("core.m_axis", "core.s_axis")]])
    table.bus("core.m_axi_tables", "memory.port_0")
    table.bus("core.m_axi_features", "memory.port_4")
    table.bus("core.m_axi_sums", "memory.port_8")
    add_bus(table, "dma_hbm", "memory.port_12")
    table.wire(board_status={"request": "~core.busy"})
    table.check(tmp_path)


def test_more_than_hbm_has_is_refused():
    with pytest.raises(ValueError, match="address_bits must be at most 33 on this board, 8 GB"):
        EndpointBoard(replace(TINY, address_bits=34))
