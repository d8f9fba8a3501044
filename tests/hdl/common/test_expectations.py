"""Tests what components expect around them: proofs assume it, and simulations assert it."""

import ast
from pathlib import Path

import pytest
from cocotb.triggers import ClockCycles

from gen.base.emission.emit import emit
from hdl.p4sgd.transport.params import TransportParams
from hdl.p4sgd.transport.slot_table import SlotTable
from sim.harness import verilator
from sim.harness.coverage_runs import COVERAGE
from sim.harness.streams import crossed, start
from sim.harness.verilator import SimulationError, simulate
from tests.hdl.p4sgd.bench import put

TESTS = Path(__file__).parents[2]
TABLE = SlotTable(TransportParams(slots=2))  # as in its own test

#: Where a proof assumes what no expectation says: a job table is proven to keep it; a middle pipe
#: never gives back more room than was taken, as ``test_middle_pipe`` asserts in every cycle.
PROVEN = {
    "aggregator_proof.py": 1,
    "output_room_proof.py": 1,
    # Two copies are asked the same of one slot, first that it is cleared; as JobTable asks.
    "slots_proof.py": 5,
    # A job of two tables sends and commands the same, and its slots tell the same (slots_proof.py).
    "isolation_proof.py": 9,
    "waiting_proof.py": 1,  # a port that asks goes on until its turn comes
    # No tag is given of which a read is under way (tag_proof.py).
    "end_proof.py": 1,
    # The queue of free tags gives what is in it; a place that is handed on is somebody's.
    "tag_proof.py": 2,
}


@crossed(start_at=[1, 3], us=10)
async def starts_what_may_not_start(dut, start_at):
    """Nothing may start before the job is open, two cycles behind its clear."""
    put(dut, slot_count=2, clear=0, start=0, delivered=0, valid=0)
    await start(dut)
    put(dut, clear=1)
    await ClockCycles(dut.clk, 1)
    put(dut, clear=0)
    await ClockCycles(dut.clk, start_at)
    put(dut, start=1)
    await ClockCycles(dut.clk, 1)
    put(dut, start=0)
    await ClockCycles(dut.clk, 3)


def test_a_violation_ends_the_simulation(capsys, monkeypatch):
    """It does where coverage is measured, too, although components assert nothing there."""
    monkeypatch.delenv(COVERAGE, raising=False)
    monkeypatch.setattr(verilator, "_emissions", {})
    with pytest.raises(SimulationError):
        simulate(TABLE, __name__, test_filter=r".*start_at=1")
    assert "SlotTable expects starts_if_it_may" in capsys.readouterr().out
    simulate(TABLE, __name__, test_filter=r".*start_at=3")


def test_nothing_of_it_is_generated():
    assert "expects" not in emit(TABLE).verilog


def test_proofs_assume_nothing_else():
    """An assumption is an expectation of the component that the proof is of."""
    result = {}
    for path in TESTS.rglob("*_proof.py"):
        names = [n.func.id for n in ast.walk(ast.parse(path.read_text())) if is_call(n)]
        if count := names.count("assume") + names.count("Assume"):
            result[path.name] = count
    assert result == PROVEN


def is_call(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
