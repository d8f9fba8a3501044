import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from hdl.u280.worker_board import WorkerBoard
from tests.hdl.u280.board_checks import check_board, hbm_ports
from tests.hdl.u280.board_table import add_bus, board_table

TINY = WorkerParams(engines=2, engine=EngineParams(lanes=32, chunks=16, fifo_words=256))


def test_two_engines():
    board = WorkerBoard(TINY)
    check_board(board)
    # Engine e: port 4e; labels and host at engine 0's; the second stack needs one as well.
    assert hbm_ports(board) == [0, 2, 3, 4, 16]


def test_wires(tmp_path):
    board = WorkerBoard(TINY)
    table = board_table(board, [[("core.m_axis", "core.s_axis")]])
    # A word of 512 bits has one port an engine.
    table.bus("core.m_axi_words_0", "memory.port_0")
    table.bus("core.m_axi_words_1", "memory.port_4")
    table.bus("core.m_axi_labels", "memory.port_2")
    add_bus(table, "dma_hbm", "memory.port_3")
    add_bus(table, "dma_model", "core.s_axi_model")
    table.wire(board_status={"request": "~core.busy"})
    table.check(tmp_path)


def test_eight_engines_use_the_ports_of_both_stacks():
    words = [4 * engine + k for engine in range(8) for k in range(2)]
    assert hbm_ports(WorkerBoard(WorkerParams())) == sorted([*words, 2, 3])


def test_a_port_that_reaches_beyond_its_channel_is_refused():
    with pytest.raises(ValueError, match="address_bits must be at most 28 on this board"):
        WorkerBoard(WorkerParams(address_bits=30))


def test_a_single_register_between_dies_is_refused():
    with pytest.raises(ValueError, match="slr_stages must be at least 2 on this board"):
        WorkerBoard(WorkerParams(slrs=2, slr_stages=1))
