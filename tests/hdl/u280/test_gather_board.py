from dataclasses import replace

import pytest

from gen.base.settings import make_params
from gen.board.boards import BOARDS
from hdl.gather.engine_params import GatherEngineParams
from hdl.u280.gather_board import GatherBoard
from tests.hdl.netlist_bench import Table
from tests.hdl.u280.board_checks import check_board
from tests.hdl.u280.board_table import add_clocks, add_pins

BOARD = BOARDS["u280"].designs["gather-engine"]


def tiny() -> GatherEngineParams:
    return make_params(BOARD.design.params_class, BOARD.settings_of("tiny"))


def test_it_has_no_cages():
    board = GatherBoard(tiny())
    emission = check_board(board)
    assert board.slr_crossings == ()
    assert not any("qsfp" in port.name for port in emission.top.ports)
    assert [ip.name for ip in board.vendor_ips] == ["board_clocks", "pcie4c_block", "hbm"]


@pytest.mark.long
def test_rows_for_the_host_need_no_memory_on_the_card():
    board = GatherBoard(replace(tiny(), outputs="host"))
    check_board(board)
    assert [ip.name for ip in board.vendor_ips] == ["board_clocks", "pcie4c_block"]


def test_wires(tmp_path):
    table = Table(GatherBoard(tiny()))
    add_clocks(table, memory=True, cages=False)
    add_pins(table, memory=True)
    table.wire(
        core={
            "limit": "pcie.limits",
            **{
                name: f"pcie.{name}"
                for name in ("credits", "numbers", "msix_enable", "msix_sent", "msix_failed")
            },
            **{name: f"pcie.{name}" for name in ("function_in_process", "function_master")},
        },
        pcie={name: f"core.{name}" for name in ("msix_vector", "msix_send", "function_done")},
    )
    table.bus("core.rq", "pcie.rq")
    table.bus("core.cc", "pcie.cc")
    table.bus("pcie.rc", "core.rc")
    table.bus("pcie.cq", "core.cq")
    table.bus("core.m_axi", "memory.port_0")
    table.check(tmp_path)


def test_what_the_card_does_not_have_is_refused():
    with pytest.raises(ValueError, match="data_bits must be 512 on this board"):
        GatherBoard(replace(tiny(), data_bits=256))
    with pytest.raises(ValueError, match="address_bits must be at most 33 on this board"):
        GatherBoard(replace(tiny(), address_bits=34))
    with pytest.raises(ValueError, match=r"outputs must be axi or host .*: all, False"):
        GatherBoard(replace(tiny(), outputs="all"))
    with pytest.raises(ValueError, match=r"outputs must be axi or host .*: axi, True"):
        GatherBoard(replace(tiny(), card_idxs=True))
    with pytest.raises(ValueError, match="host_bus must be pcie on this board"):
        GatherBoard(replace(tiny(), host_bus="axi"))
