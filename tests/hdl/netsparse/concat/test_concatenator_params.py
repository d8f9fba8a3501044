from functools import partial

import pytest

from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from tests.rejects import rejects

LEGAL = {"payload": True, "nodes": 8}


test_rejects = rejects(
    partial(ConcatenatorParams, **LEGAL),
    ({"mtu": 592}, "mtu must be .* from 594 to 9216, to hold a PR of the largest property: 592"),
    ({"pool": 35}, "pool must be a whole number from 36 to 32768, or 0: 35"),
    ({"nodes": 6000}, "lines are too many"),
)


def test_largest_and_smallest_are_legal():
    ConcatenatorParams(payload=True, nodes=2, mtu=9216, most_property_bytes=4096)
    ConcatenatorParams(payload=False, nodes=1, mtu=128, most_property_bytes=46)
    ConcatenatorParams(payload=True, nodes=2, mtu=594)


@pytest.mark.parametrize("payload", [False, True])
def test_virtual_memory_is_small_and_the_same_for_all_nodes(payload):
    full = ConcatenatorParams(payload=payload, nodes=128)
    virtual = [ConcatenatorParams(payload=payload, nodes=n, pool=256) for n in (8, 128, 4096)]
    assert len({params.memory_bits for params in virtual}) == 1
    assert 4 * virtual[0].memory_bits <= full.memory_bits
    assert full.memory_bits >= 128 * 8 * 1436
