"""Checks the requester, as it is built by default, against its limits of resources."""

import pytest

from gen.base.emission.emit import emit
from gen.synth.synthesis import synthesise
from hdl.pcie.completer import Completer
from hdl.pcie.completer_params import CompleterParams
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.requester import Requester, RequesterParams
from sim.harness.cache import cached_folder

pytestmark = pytest.mark.long


#: in the order of requests, and as reads complete; each lane of a wide register has its control
LUTS = {True: 17_900, False: 18_950}


@pytest.fixture(scope="module", params=LUTS, ids=["in order", "as they complete"])
def in_order(request):
    return request.param


@pytest.fixture(scope="module")
def synthesis(in_order):
    params = RequesterParams(reads=ReadRequesterParams(in_order=in_order))
    return synthesise(emit(Requester(params)), cached_folder)


def test_levels(synthesis):
    assert [clock.path for clock in synthesis.clocks if not clock.met] == []


def test_chains(synthesis):
    assert synthesis.depth.levels > 0
    assert synthesis.depth.most_chains <= 1


def test_resources(synthesis, in_order):
    print(synthesis.total)
    assert synthesis.total.lut <= LUTS[in_order]
    assert synthesis.total.ff <= 12_000
    assert synthesis.total.bram18 <= 65


def test_memories_are_as_intended(synthesis):
    """Each lane of the buffer and the order of reads are block RAM, and tags are in LUTs."""
    assert synthesis.strayed == []
    result = {memory.became for module in synthesis.modules.values() for memory in module.memories}
    assert result == {"bram", "lutram"}


def test_completer_is_small():
    """The completer is small beside the requester: both together have at most 25,000 LUTs."""
    result = synthesise(emit(Completer(CompleterParams())), cached_folder)
    print(result.total, result.depth)
    assert result.total.lut <= 400
    assert result.depth.most_levels <= 8
    assert result.depth.most_chains <= 1
