from functools import partial

import pytest

from hdl.netsparse.property_cache.params import PRESETS, PropertyCacheParams
from tests.rejects import rejects

MEBIBYTE = 1024**2
SMALL = {"cache_bytes": 512, "segments": 4, "ways": 4, "idx_bits": 12}


def test_paper():
    """Table 5 has 32 MB over the pipes, lines of 16 to 512 bytes, 32 segments, 16 ways."""
    params = PRESETS["paper"]
    assert params.cache_bytes * 8 == 32 * MEBIBYTE
    assert (params.segments, params.ways, params.latency, params.max_bytes) == (32, 16, 16, 512)
    assert (params.sets, params.rows, params.tag_bits) == (512, 16384, 31)


def test_u280():
    """A segment is two UltraRAMs of 4,096 x 72 bits side by side."""
    params = PRESETS["u280"]
    memory = params.segment_memory
    assert (memory.width, memory.depth, memory.style) == (128, 4096, "ultra")
    assert params.tag_memory.style == params.row_memory.style == "block"


@pytest.mark.parametrize("params", PRESETS.values(), ids=PRESETS)
def test_all_bytes_are_in_segments(params):
    memory = params.segment_memory
    assert params.segments * memory.depth * memory.width == 8 * params.cache_bytes


test_rejects = rejects(
    partial(PropertyCacheParams, **SMALL),
    ({"cache_bytes": 256}, "sets of 4 ways of 16 bytes: 256 bytes give 1 sets$"),
    ({"cache_bytes": 768}, "768 bytes give 3 sets$"),
    ({"cache_bytes": 520}, "520 bytes give 2.03"),
    ({"cache_bytes": 256 << 17}, "bytes give 131072 sets$"),
    ({"idx_bits": 3}, "idx_bits must be a whole number from 4 to 64: 3"),
    ({"idx_bits": 65}, "idx_bits must be a whole number from 4 to 64: 65"),
)


@pytest.mark.parametrize("sizes", [{"idx_bits": 4}, {"idx_bits": 64}, {"latency": 64}])
def test_takes_the_limits(sizes):
    assert PropertyCacheParams(**SMALL | sizes).rows == 8
