"""Cells, ports and delays of one module."""

import pytest

from gen.emit import emit
from gen.floorplan.netlist import netlists
from tests.gen.floorplan.design import Board


@pytest.fixture(scope="module")
def board():
    return netlists(emit(Board()).modules["board"].rtlil)["board"]


def test_instances(board):
    instances = {c.name: c.type for c in board.cells if not c.type.startswith("$")}
    assert instances == {
        "group": "group",
        "mac": "mac",
        "near": "consumer",
        "pad": "OBUF",
        "producer": "producer",
    }


def test_registers_with_their_reset_are_one_cell(board):
    kinds = sorted(c.type for c in board.cells if c.type.startswith("$"))
    assert kinds == ["$and", "$sdff", "$sdff", "$xor"]


def test_delays_are_known(board):
    frame = next(c for c in board.cells if c.name == "mac").wires["frame"]
    assert board.delayed.issuperset(frame)
    assert len(board.delayed) == 7 + 2


def test_ports(board):
    assert {name: len(bits) for name, bits in board.ports.items()} == {"clk": 1, "rst": 1, "led": 1}
