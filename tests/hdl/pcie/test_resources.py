"""The requester as it is built by default, against the limits that it was built to."""

import pytest

from gen.emission.emit import emit
from gen.synth.synthesis import synthesise
from hdl.pcie.completer import Completer
from hdl.pcie.completer_params import CompleterParams
from hdl.pcie.requester import Requester, RequesterParams
from sim.harness.cache import cached_folder

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def synthesis():
    return synthesise(emit(Requester(RequesterParams())), cache=cached_folder)


def test_depth(synthesis):
    """On any path at most eight LUTs, and one carry chain."""
    print(synthesis.depth)
    assert 0 < synthesis.depth.levels <= synthesis.depth.most_levels <= 8
    assert synthesis.depth.most_chains <= 1


@pytest.mark.parametrize(("kind", "most"), [("lut", 17_500), ("ff", 11_500), ("bram18", 66)])
def test_resources(synthesis, kind, most):
    print(kind, synthesis.total)
    assert getattr(synthesis.total, kind) <= most


def test_memories_are_as_intended(synthesis):
    """A lane of the buffer is block RAM, and so is the order of reads; tags are in LUTs."""
    assert synthesis.strayed == []
    found = {memory.became for module in synthesis.modules.values() for memory in module.memories}
    assert found == {"bram", "lutram"}


def test_completer_is_small():
    """Beside the requester it is nothing: 25,000 LUTs are the most of both together."""
    found = synthesise(emit(Completer(CompleterParams())), cache=cached_folder)
    print(found.total, found.depth)
    assert found.total.lut <= 400
    assert found.depth.most_levels <= 8
    assert found.depth.most_chains <= 1
