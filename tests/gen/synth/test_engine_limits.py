"""Compares the u280 preset's engine, as a user estimates it, with the limits of its design."""

import json

import pytest

from tests.gen.console import ingather

pytestmark = pytest.mark.long  # `make bench` holds the same limits


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "engine.json"
    result = ingather("synth", "p4sgd-engine", "--json", str(path))
    assert result.returncode == 0, result.stderr
    assert "fits u280 with the shell" in result.stdout
    return json.loads(path.read_text())


@pytest.mark.parametrize(
    ("kind", "most"), [("luts", 12_000), ("ff", 20_000), ("dsp", 512), ("uram", 66), ("bram18", 0)]
)
def test_resources(engine, kind, most):
    """LUTs include those that are memory and shift registers."""
    total = engine["total"]
    print(kind, total)
    assert (total["lut"] + total["lutram"] if kind == "luts" else total[kind]) <= most


def test_depth(engine):
    """A path has at most six LUTs, and one carry chain of at most 64 bits."""
    depth = engine["depth"]
    print(depth)
    assert 0 < depth["levels"] <= depth["most_levels"] <= 6
    assert depth["most_chains"] <= 1
    assert depth["most_carry"] <= 64


def test_every_cell_is_known(engine):
    total = engine["total"]
    assert total["luts"] == total["lut"] + total["lutram"]
    assert all(module["unknown"] == {} for module in engine["modules"])


def test_memories_are_as_intended(engine):
    """The model and the word FIFO are in UltraRAM, and the queue of sums is in LUTs."""
    result = {m["name"]: memory for m in engine["modules"] for memory in m["memories"]}
    assert all(memory["as_intended"] for memory in result.values())
    ultra = [m for m in engine["modules"] if m["name"] in result and m["own"]["uram"]]
    assert {result[m["name"]]["became"] for m in ultra} == {"uram"}
    assert sum(m["count"] * m["own"]["uram"] for m in ultra) == 66
    bits = sum(m["count"] * result[m["name"]]["bits"] for m in ultra)
    assert bits == 2 * 64 * 32 + 512
