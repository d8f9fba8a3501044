import pytest

from hdl.switchgnn.endpoint.params import PRESETS, EndpointParams
from hdl.switchgnn.protocol import FEATURE_BITS, SUM_BITS
from tests.rejects import rejects

test_rejects = rejects(
    EndpointParams,
    ({"lanes": 1}, "lanes must be a whole number from 2 to 128: 1"),
    ({"lanes": 96}, "lanes must be a power of two: 96"),
    ({"window": 129}, "window must be a whole number from 2 to 128: 129"),
    ({"banks": 32}, "banks must be a whole number from 1 to 16: 32"),
    ({"depth": 6}, "depth must be a power of two: 6"),
    ({"copies": 0}, "copies must be a whole number from 2 to 65536: 0"),
    ({"address_bits": 65}, "address_bits must be a whole number from 16 to 64: 65"),
    ({"prefetch_beats": 8}, "prefetch_beats must be a whole number from 16 to 4096: 8"),
    ({"ingress_beats": 8}, "words must be a power of two from 16 to 65536: 8"),
)


@pytest.mark.parametrize(
    ("preset", "aggregators", "words", "feature", "sums"),
    [("tiny", 16, 3, 1, 1), ("small", 2048, 72, 1, 2), ("full", 32768, 1152, 4, 8)],
)
def test_sizes(preset, aggregators, words, feature, sums):
    params = PRESETS[preset]
    assert params.aggregators == aggregators
    assert params.words == words
    assert params.payload_beats(FEATURE_BITS) == params.feature_beats == feature
    assert params.payload_beats(SUM_BITS) == params.sum_beats == sums
    assert params.missing_bits == (aggregators + params.copies).bit_length()
