from dataclasses import replace
from itertools import pairwise

import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from hdl.u280.worker_board import HOST, LABELS, WorkerBoard, fits, host_addresses, port_bits
from tests.hdl.u280.board_checks import check_board, hbm_ports
from tests.hdl.u280.board_table import add_bus, board_table

TINY = WorkerParams(engines=2, engine=EngineParams(lanes=32, chunks=16, fifo_words=256))


def test_two_engines():
    board = WorkerBoard(TINY)
    check_board(board)
    # Engine e: port 4e; labels and host between them; the second stack needs one as well.
    assert hbm_ports(board) == [0, 1, 3, 4, 16]


def test_wires(tmp_path):
    board = WorkerBoard(TINY)
    table = board_table(board, [[("core.m_axis", "core.s_axis")]])
    # A word of 256 bits has one port an engine.
    table.bus("core.m_axi_words_0", "memory.port_0")
    table.bus("core.m_axi_words_1", "memory.port_4")
    table.bus("core.m_axi_labels", "memory.port_1")
    add_bus(table, "dma_hbm", "memory.port_3")
    add_bus(table, "dma_model", "core.s_axi_model")
    table.wire(board_status={"request": "~core.busy"})
    table.check(tmp_path)


def test_eight_engines_use_the_ports_of_both_stacks():
    assert hbm_ports(WorkerBoard(WorkerParams())) == sorted([*range(0, 32, 2), 1, 3])


def test_sixteen_engines_have_a_port_each():
    params = WorkerParams(engines=16, engine=TINY.engine, address_bits=29)
    assert hbm_ports(WorkerBoard(params)) == sorted([*range(0, 32, 2), 1, 3])
    with pytest.raises(ValueError, match="at most 2 memory ports on this board with 16 engines: 3"):
        WorkerBoard(WorkerParams(engines=16, engine=EngineParams(lanes=96)))


def test_a_set_of_engines_has_the_ports_of_one():
    params = WorkerParams(engines=15, classes=5, engine=TINY.engine)
    assert hbm_ports(WorkerBoard(params)) == [0, 1, 3, 4, 8, 16]
    assert host_addresses(params)["words"] == tuple(port << 28 for port in (0, 4, 8))


SHARED = replace(TINY, engine=replace(TINY.engine, banks=16, lanes=64))


def test_labels_and_host_share_ports_with_words(tmp_path):
    """A word of 1,024 bits takes the four channels of its engine, so that none is left."""
    board = WorkerBoard(SHARED)
    check_board(board)
    assert hbm_ports(board) == [*range(8), 16]
    assert hbm_ports(WorkerBoard(WorkerParams(engines=16))) == list(range(32))
    table = board_table(board, [[("core.m_axis", "core.s_axis")]])
    for port in set(range(8)) - {LABELS, HOST}:
        table.bus(f"core.m_axi_words_{port}", f"memory.port_{port}")
    table.bus("pcie.hbm", "dma_hbm.i")
    written = {f"memory.port_{HOST}": "dma_hbm.o", "dma_hbm.o": f"memory.port_{HOST}"}
    for path in table.seen:
        instance, _, name = path.rpartition("_")
        if instance in written and name[0] in "awb" and name[:2] != "ar":
            source = f"{written[instance]}_{name}"
            table.add(path, source if source in table.driven else 0)
    table.add(f"share_{HOST}.i_0_araddr", f"{HOST << 28} | core.m_axi_words_{HOST}_araddr")
    for port, other in {LABELS: "core.m_axi_labels", HOST: "dma_hbm.o"}.items():
        table.bus(f"core.m_axi_words_{port}", f"share_{port}.i_0")
        table.bus(other, f"share_{port}.i_1")
        table.bus(f"share_{port}.o", f"memory.port_{port}")
    add_bus(table, "dma_model", "core.s_axi_model")
    table.wire(board_status={"request": "~core.busy"})
    table.check(tmp_path)


@pytest.mark.parametrize(("params", "most"), [(WorkerParams(), 29), (TINY, 30)])
def test_a_port_that_reaches_beyond_its_channels_is_refused(params, most):
    WorkerBoard(replace(params, address_bits=most))
    with pytest.raises(ValueError, match=f"address_bits must be at most {most} on this board"):
        WorkerBoard(replace(params, address_bits=most + 1))


@pytest.mark.parametrize("lanes", [32, 64, 96])
@pytest.mark.parametrize("engines", [1, 8, 16])
@pytest.mark.parametrize("bits", [20, 28, 29, 30, 33, 36])
def test_memories_are_apart(engines, lanes, bits):
    """Labels are in the memory of a port of words, or in one of their own."""
    params = WorkerParams(engines=engines, engine=EngineParams(lanes=lanes), address_bits=bits)
    places = host_addresses(params)
    labels, size = places["labels"], 1 << bits
    starts = [*places["words"], labels] if not places["labels_end"] else [*places["words"]]
    assert places["labels_end"] in (0, size)
    assert bool(places["labels_end"]) == (labels in places["words"])
    assert all(behind - before >= size for before, behind in pairwise(sorted(starts)))
    assert max(starts) + size <= places["model"]
    assert fits(params) == (engines * lanes < 1536 and bits <= port_bits(params))


def test_a_single_register_between_dies_is_refused():
    with pytest.raises(ValueError, match="slr_stages must be at least 2 on this board"):
        WorkerBoard(WorkerParams(slrs=2, slr_stages=1))


def test_weights_in_memory_have_ports_of_their_own():
    """Engine e: words at 8e and 8e + 2, once more behind them, weights at 8e + 4."""
    engine = EngineParams(lanes=64, chunks=16, max_tile=4)
    params = WorkerParams(engines=2, engine=engine, address_bits=29)
    board = WorkerBoard(params)
    check_board(board)
    assert hbm_ports(board) == [*range(5), 6, 7, *range(8, 13), 16]
    addresses = host_addresses(params)
    assert addresses["words"] == tuple(port << 28 for port in (0, 2, 8, 10))
    assert (addresses["labels"], addresses["labels_end"]) == (6 << 28, 0)
    with pytest.raises(ValueError, match="at most 0 memory ports on this board with 5 engines: 2"):
        WorkerBoard(replace(params, engines=5))
