import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sim.workloads.quantise import Quantiser, from_fixed, to_fixed, truncate

BITS = range(1, 9)
MATRICES = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(-1e6, 1e6).map(lambda value: value if abs(value) > 1e-290 else 0.0),
)


def test_unsigned_by_hand() -> None:
    features = np.array([[0.0, 3.0], [15.0, 1.0], [7.4, 0.0]])
    quantiser = Quantiser.fit(features, 4)
    assert not quantiser.signed
    assert quantiser.scale.tolist() == pytest.approx([16, 3.2])
    assert quantiser.encode(features).tolist() == [[0, 15], [15, 5], [7, 0]]


def test_signed_by_hand() -> None:
    features = np.array([[-7.0], [3.5], [-3.5], [0.0]])
    quantiser = Quantiser.fit(features, 4)
    assert quantiser.signed
    assert quantiser.scale.tolist() == [8.0]
    assert quantiser.encode(features).tolist() == [[-7], [4], [-3], [0]]  # ties upwards
    assert quantiser.encode(np.array([[-100.0], [100.0]])).tolist() == [[-8], [7]]


def test_centred_by_hand() -> None:
    features = np.array([[10.0, 0.0, 7.0], [14.0, 0.0, 7.0], [12.0, 9.0, 7.0]])
    quantiser = Quantiser.fit(features, 4, center=True)
    assert quantiser.signed
    assert np.broadcast_to(quantiser.offset, 3).tolist() == [12, 3, 0]  # not of a constant, a bias
    assert quantiser.scale.tolist() == pytest.approx([2 * 8 / 7, 6 * 8 / 7, 8])
    assert quantiser.encode(features).tolist() == [[-7, -3, 7], [7, -3, 7], [0, 7, 7]]
    fixed = to_fixed([0.5, -0.25, 0.125])
    original = quantiser.to_original(fixed)
    z = features @ original + quantiser.intercept(original)
    assert z == pytest.approx(quantiser.scaled(features) @ [0.5, -0.25, 0.125])


@pytest.mark.parametrize("bits", BITS)
def test_centring_uses_every_precision(bits: int) -> None:
    """In sparse data, what was zero gets one code, and what stood out still does."""
    features = np.where(np.random.default_rng(3).random((200, 5)) < 0.1, 4.0, 0.0)
    codes = Quantiser.fit(features, bits, center=True).encode(features)
    for column in range(5):
        rare = np.unique(codes[features[:, column] > 0, column])
        assert len(rare) == 1
        assert rare[0] == (1 << (bits - 1)) - 1
        assert len(np.unique(codes[features[:, column] == 0, column])) == 1


def test_one_bit() -> None:
    features = np.array([[-2.0], [2.0], [-0.9], [1.1]])
    assert Quantiser.fit(features, 1).encode(features).tolist() == [[-1], [0], [0], [0]]
    quantiser = Quantiser.fit(abs(features), 1)
    assert quantiser.encode(abs(features)).tolist() == [[1], [1], [0], [1]]


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("signed", [False, True])
def test_largest_value_gets_the_top_code(bits: int, signed: bool) -> None:
    features = np.random.default_rng(bits).uniform(0.1, 1e3, (50, 20))
    quantiser = Quantiser.fit(features, bits, signed=signed)
    codes = quantiser.encode(features)
    assert codes.max(axis=0).tolist() == [(1 << quantiser.shift) - 1] * 20
    assert quantiser.shift == bits - signed


@given(MATRICES, st.integers(2, 8), st.booleans())
def test_codes_are_within_half_a_step(features: np.ndarray, bits: int, per_feature: bool) -> None:
    quantiser = Quantiser.fit(features, bits, per_feature=per_feature)
    codes = quantiser.encode(features)
    error = codes / 2.0**quantiser.shift - quantiser.scaled(features)
    assert np.abs(error).max() <= 0.5001 / 2**quantiser.shift


def test_one_scale_for_all() -> None:
    features = np.array([[1.0, 0.0, 30.0]])
    quantiser = Quantiser.fit(features, 4, per_feature=False)
    assert quantiser.scale.tolist() == [32.0] * 3
    assert quantiser.encode(features).tolist() == [[1, 0, 15]]  # 1/2 rounds up


def test_zero_feature_has_scale_one() -> None:
    assert Quantiser.fit(np.zeros((3, 2)), 4).scale.tolist() == [1, 1]


def test_weights_go_back_to_original_units() -> None:
    rng = np.random.default_rng(8)
    features = rng.normal(size=(10, 4)) * [1, 10, 0.1, 5]
    quantiser = Quantiser.fit(features, 8)
    weights = rng.integers(-(1 << 31), 1 << 31, 4)
    scaled = quantiser.scaled(features) @ from_fixed(weights)
    assert np.allclose(features @ quantiser.to_original(weights), scaled)


@pytest.mark.parametrize("signed", [False, True])
def test_truncate_is_floor(signed: bool) -> None:
    codes = np.arange(-128, 128) if signed else np.arange(256)
    for bits in BITS:
        expected = np.floor(codes / 2.0 ** (8 - bits)).astype(int)
        assert truncate(codes, 8, bits).tolist() == expected.tolist()


def test_fixed_point() -> None:
    item = 1 << 23
    values = [1.0, -1.0, 0.5 / item, -0.5 / item, 255.9999999, 256.0, -256.0, -1e9]
    top = (1 << 31) - 1
    assert to_fixed(values).tolist() == [item, -item, 1, 0, top, top, -top - 1, -top - 1]
    assert to_fixed([1.25], 2).tolist() == [5]
    assert from_fixed([item, -1]).tolist() == [1.0, -(2.0**-23)]


def test_errors() -> None:
    features = np.array([[1.0, -2.5]])
    with pytest.raises(ValueError, match=r"^unsigned codes need features of at least 0, found -2"):
        Quantiser.fit(features, 4, signed=False)
    for bits in (0, 17):
        with pytest.raises(ValueError, match=f"^bits must be 1..16, not {bits}$"):
            Quantiser.fit(features, bits)
    with pytest.raises(ValueError, match=r"^features are too large to scale: 1e\+308$"):
        Quantiser.fit(features * 0 + 1e308, 2, signed=True)
    with pytest.raises(
        ValueError, match=r"^features are too small to scale: 1\.33333e-308; multiply"
    ):
        Quantiser.fit(np.array([[1, 1e-308]]), 2, signed=False)
    with pytest.raises(ValueError, match=r"^to_bits must be 1..4, not 5$"):
        truncate(np.zeros(1, dtype=int), 4, 5)


def test_features_are_not_copied_as_a_whole():
    features = np.random.default_rng(1).random((4000, 100))
    tracemalloc.start()
    Quantiser.fit(features, 8, center=True).encode(features)
    assert tracemalloc.get_traced_memory()[1] < 0.6 * features.nbytes
    tracemalloc.stop()
