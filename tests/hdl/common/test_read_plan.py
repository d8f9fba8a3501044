from functools import partial

from hdl.common.read_plan import COUNT_BITS, ReadMasterParams
from tests.rejects import rejects


def test_sizes_follow_from_the_beat():
    params = ReadMasterParams(address_bits=28)
    assert (params.beat_bytes, params.beat_address_bits, params.window_bits) == (32, 23, 4)
    assert params.plan.size == 28 + 3 * COUNT_BITS + 32
    assert params.burst.size == 23 + 4


test_rejects = rejects(
    partial(ReadMasterParams, address_bits=28),
    ({"data_bits": 12}, "data_bits must be 8, 16, 32, ... or 1024: 12"),
    ({"burst_beats": 12}, "burst_beats must be 2, 4, 8, ... or 256: 12"),
    ({"burst_beats": 1}, "burst_beats must be 2, 4, 8, ... or 256: 1"),
    ({"burst_beats": 256}, "at most 128, because a burst stays within 4096 bytes: 256 x 32"),
    ({"prefetch_beats": 16}, "at least two bursts, 32: 16"),
    ({"prefetch_beats": 48}, "a power of two and at least two bursts, 32: 48"),
    ({"address_bits": 9}, "address_bits must be from 10 to 64: 9"),
    ({"address_bits": 65}, "address_bits must be from 10 to 64: 65"),
)
