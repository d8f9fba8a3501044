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
    ("kind", "most"), [("luts", 12_000), ("ff", 20_000), ("dsp", 512), ("uram", 84), ("bram18", 24)]
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
    """The model and the word FIFO are in UltraRAM, but for bits beyond its whole columns."""
    large = [(m, r) for m in engine["modules"] for r in m["memories"] if r["depth"] > 1000]
    assert all(memory["as_intended"] for m in engine["modules"] for memory in m["memories"])
    bits = {"uram": 0, "bram": 0}
    for module, memory in large:
        bits[memory["became"]] += module["count"] * memory["bits"]
    assert sum(bits.values()) == 2 * 64 * 32 + 512
    assert bits["bram"] == 2 * (64 * 32 % 72) + 512 % 72
