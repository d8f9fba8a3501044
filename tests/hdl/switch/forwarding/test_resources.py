"""Compares forwarding switches with the limits that they were built to."""

import pytest

from gen.base.emission.emit import emit
from gen.synth.synthesis import synthesise
from hdl.switch.forwarding.params import ForwardingParams
from hdl.switch.forwarding.switch import ForwardingSwitch
from sim.harness.cache import cached_folder

pytestmark = pytest.mark.long

MOST = {
    2: {"luts": 13_500, "ff": 13_500, "bram18": 215, "uram": 32},
    8: {"luts": 70_000, "ff": 58_000, "bram18": 1_215, "uram": 128},
}


@pytest.fixture(scope="module", params=MOST)
def synthesis(request):
    params = ForwardingParams(ports=request.param)
    return params, synthesise(emit(ForwardingSwitch(params)), cached_folder)


def test_depth(synthesis):
    depth = synthesis[1].depth
    print(depth)
    assert 0 < depth.levels <= depth.most_levels <= 8
    assert depth.most_chains <= 1


def test_resources(synthesis):
    params, result = synthesis
    print(result.total)
    for kind, most in MOST[params.ports].items():
        assert getattr(result.total, kind) <= most, kind
    assert result.strayed == []
