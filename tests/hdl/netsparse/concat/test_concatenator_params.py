from functools import partial

import pytest

from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from tests.rejects import rejects

LEGAL = {"payload": True, "nodes": 8}


test_rejects = rejects(
    partial(ConcatenatorParams, **LEGAL),
    ({"nodes": 0}, "nodes must be from 1 to 65536: 0"),
    ({"mtu": 100}, "mtu must be from 128 to 9216 bytes: 100"),
    ({"mtu": 9217}, "mtu must be from 128 to 9216 bytes: 9217"),
    ({"mtu": 592}, "mtu must hold a PR of the largest property, 594 bytes: 592"),
    ({"most_property_bytes": 2}, "most_property_bytes must be even, from 4 to 4096: 2"),
    ({"most_property_bytes": 7}, "most_property_bytes must be even"),
    ({"most_property_bytes": 4098, "mtu": 9216}, "most_property_bytes must be even"),
    ({"most_delay": 0}, "most_delay must be from 1 to 32768 cycles: 0"),
    ({"style": "lut"}, "style must be one of auto, distributed, block, ultra: 'lut'"),
    ({"pool": 64, "destinations": 7}, "destinations must be from 8 to 256: 7"),
    ({"pool": 35}, "pool must be 0 or from 36 to 32768 lines: 35"),
    ({"label_bits": 17}, "label_bits must be from 0 to 16: 17"),
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
