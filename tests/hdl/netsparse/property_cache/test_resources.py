"""Compares the u280 preset's Property Cache with the limits that it was built to."""

import pytest

from gen.base.emission.emit import emit
from gen.synth.synthesis import synthesise
from hdl.netsparse.property_cache.params import PRESETS
from hdl.netsparse.property_cache.property_cache import PropertyCache
from sim.harness.cache import cached_folder

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def synthesis():
    return synthesise(emit(PropertyCache(PRESETS["u280"])), cached_folder)


def test_depth(synthesis):
    """A path has at most six LUTs and one carry chain."""
    depth = synthesis.depth
    print(depth)
    assert 0 < depth.levels <= depth.most_levels <= 6
    assert depth.most_chains <= 1


@pytest.mark.parametrize(("kind", "most"), [("luts", 14_000), ("ff", 16_000), ("bram18", 320)])
def test_resources(synthesis, kind, most):
    print(kind, synthesis.total)
    assert getattr(synthesis.total, kind) <= most


def test_memories_are_as_intended(synthesis):
    """Properties are in UltraRAM, two a segment; tags and order are in block RAM."""
    assert synthesis.total.uram == 2 * PRESETS["u280"].segments
    assert synthesis.strayed == []
    result = {memory.became for module in synthesis.modules.values() for memory in module.memories}
    assert result == {"uram", "bram"}
    assert all(not module.unknown for module in synthesis.modules.values())


def test_the_paper_s_can_be_emitted():
    """A pipe of it has twice the sets."""
    verilog = emit(PropertyCache(PRESETS["paper"])).verilog
    assert "reg [127:0] memory [0:8191];" in verilog
