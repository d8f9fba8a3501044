import pytest

from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.protocol import FEATURE_BITS, SUM_BITS


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
