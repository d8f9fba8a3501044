from dataclasses import replace

import pytest

from gen.designs.catalogue import find_design
from hdl.netsparse.params import SnicParams
from hdl.u280.snic_board import SnicBoard
from tests.hdl.u280.board_checks import check_board
from tests.hdl.u280.board_table import board_table


def tiny() -> SnicParams:
    return find_design("netsparse-snic").params_of("tiny")


def test_one_cage_for_both_kinds():
    board = SnicBoard(tiny())
    check_board(board)
    assert [crossing.path for crossing in board.slr_crossings] == [
        "to_mac_0_0",
        "to_mac_0_1",
        "of_mac_0_0",
        "of_mac_0_1",
        "counts_of_mac_0",
    ]


def test_wires(tmp_path):
    reads = ("core.m_axis_reads", "core.s_axis_reads")
    responses = ("core.m_axis_responses", "core.s_axis_responses")
    table = board_table(SnicBoard(tiny()), [[reads, responses]])
    table.bus("core.m_axi_dram", "memory.port_0")
    table.bus("core.m_axi_host", "pcie.host")
    table.wire(board_status={"request": "core.irq"})
    table.check(tmp_path)


def test_wires_over_the_bare_block(tmp_path):
    reads = ("core.m_axis_reads", "core.s_axis_reads")
    responses = ("core.m_axis_responses", "core.s_axis_responses")
    board = SnicBoard(replace(tiny(), host_bus="pcie"))
    assert "pcie4c_block" in {ip.name for ip in board.vendor_ips}
    assert not any(":xdma:" in ip.vlnv for ip in board.vendor_ips)
    table = board_table(board, [[reads, responses]])
    table.bus("core.m_axi_dram", "memory.port_0")
    table.bus("core.rq", "pcie.rq")
    table.bus("pcie.rc", "core.rc")
    table.wire(
        board_status={
            "request": "core.irq",
            "irq_late": "pcie.irq_late",
            "irq_silent": "pcie.irq_silent",
        },
        core={
            name: f"pcie.{name}"
            for name in ("limits", "credits", "numbers", "function_in_process", "function_master")
        },
        pcie={"function_done": "core.function_done"},
    )
    table.check(tmp_path)


def test_the_bare_block_s_board_is_whole():
    check_board(SnicBoard(replace(tiny(), host_bus="pcie")))


def test_more_memory_than_hbm_is_refused():
    with pytest.raises(ValueError, match="dram_address_bits must be at most 33 on this board"):
        SnicBoard(replace(tiny(), dram_address_bits=34))
