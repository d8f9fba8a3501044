"""Reads cells, ports and wires of one module."""

import pytest

from gen.base.emission.emit import emit
from gen.floorplan.netlist import netlists
from hdl.common.wire_pipeline import WirePipeline, WirePipelineParams
from tests.gen.floorplan.design import Board, Consumer


@pytest.fixture(scope="module")
def board():
    return netlists(emit(Board()).modules["board"].rtlil)["board"]


def test_instances(board):
    instances = {c.name: c.type for c in board.cells if not c.type.startswith("$")}
    assert instances == {
        "frame_path": "wire_pipeline_7_4",
        "group": "group",
        "mac": "mac",
        "near": "consumer",
        "pad": "OBUF",
        "producer": "producer",
        "status_path": "wire_pipeline_2_5",
    }
    assert sorted(c.type for c in board.cells if c.type.startswith("$")) == ["$and", "$xor"]


@pytest.mark.parametrize("language", ["rtlil", "verilog"])
def test_registers_are_one_cell_with_or_without_reset(language):
    consumer = emit(Consumer()).top
    path = emit(WirePipeline(WirePipelineParams(shape=2, stages=2))).top
    (result,) = netlists(getattr(consumer, language), language).values()
    assert {c.type for c in result.cells} == {"$sdffe", "$xor"}
    (result,) = netlists(getattr(path, language), language).values()
    plain = {
        tuple(c.wires["Q"]) for c in result.cells if c.type == "$dff" and len(c.wires["Q"]) > 1
    }
    assert plain == {tuple(result.nets[name]) for name in ("wires_1", "o")}


def test_ports(board):
    assert {name: len(bits) for name, bits in board.ports.items()} == {"clk": 1, "rst": 1, "led": 1}
