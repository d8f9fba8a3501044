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
    ({"burst_beats": 256}, "at most 128, because a burst stays within 4096 bytes: 256 x 32"),
    ({"prefetch_beats": 16}, "prefetch_beats must be a whole number from 32 to 65536: 16"),
    ({"prefetch_beats": 1 << 17}, "prefetch_beats must be a whole number from 32 to 65536: 131072"),
    ({"address_bits": 9}, "address_bits must be a whole number from 10 to 64: 9"),
    ({"address_bits": 65}, "address_bits must be a whole number from 10 to 64: 65"),
)
