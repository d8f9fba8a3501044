from dataclasses import asdict, replace

import numpy as np
import pytest

from sim.golden.arithmetic import Step
from sim.p4sgd.golden.sgd import (
    Loss,
    Parts,
    Saturations,
    Training,
    delta,
    derivative,
    epoch,
    full_activation,
    partial_activation,
    update,
)
from tests.rejects import refuses
from tests.sim.p4sgd.golden import scalar

ONE = 1 << 23
TOP = (1 << 31) - 1
LOW = -(1 << 31)
STEP = Step.of(1.0)
TRAINING = Training(loss=Loss.LINEAR, bits=4, signed=False, batch=8, banks=8, step=STEP)


def test_partial_activation_by_hand() -> None:
    codes = np.array([[1, 2], [15, 0], [0, 1], [0, 3]])
    values, mask = partial_activation(codes, [16, -8], 4)
    assert values.tolist() == [0, 15, 0, -1]  # 0, 15, -1/2 and -3/2: ties upwards
    assert not mask.any()


@pytest.mark.parametrize(
    ("code", "shift"), [(255, 8), (-128, 7), (255, 0), (65535, 16), (-32768, 15), (511, 9)]
)
@pytest.mark.parametrize("weight", [LOW, TOP, 0x1234_5678])
def test_partial_activation_is_exact_at_its_largest(weight: int, code: int, shift: int) -> None:
    features = 20_000
    codes = np.full((1, features), code)
    codes[0, ::2] = -code if code < 0 else code  # -128 and 128 cancel: nothing may be lost
    weights = np.full(features, weight)
    weights[1::2] -= np.sign(weight)
    exact = sum(int(c) * int(w) for c, w in zip(codes[0], weights, strict=True))
    rounded = (2 * exact + 2**shift) // 2 ** (shift + 1)
    values, mask = partial_activation(codes, weights, shift)
    assert values[0] == max(LOW, min(TOP, rounded))
    assert mask[0] == (values[0] != rounded)


@pytest.mark.parametrize("shift", [7, 8, 9, 12, 15])
def test_partial_activation_matches_integer_products(shift: int) -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(-1 << shift, 1 << shift, (50, 3000))
    for high in (1 << 8, TOP + 1):
        weights = rng.integers(-high, high, 3000)
        exact = (codes.astype(object) @ weights.astype(object) * 2 + 2**shift) // 2 ** (shift + 1)
        clamped = [min(max(value, LOW), TOP) for value in exact]
        assert partial_activation(codes, weights, shift)[0].tolist() == clamped


def test_update_is_exact_at_its_largest() -> None:
    """Sixteen samples of 16 bits, all of whose products have one sign."""
    codes = np.full((16, 2), (1 << 16) - 1)
    codes[-1, 0] -= 1
    exact = 16 * TOP * ((1 << 16) - 1)
    for deltas, sign in ((TOP, 1), (-TOP, -1)):
        values, _ = update([sign * TOP] * 2, codes, [deltas] * 16, 21)
        rounded = [(2 * sign * part + 2**21) // 2**22 for part in (exact - TOP, exact)]
        assert values.tolist() == [min(max(sign * TOP - part, LOW), TOP) for part in rounded]


def test_full_activation() -> None:
    values, mask = full_activation([[TOP, LOW, 5], [1, -1, -7]])
    assert values.tolist() == [TOP, LOW, -2]
    assert mask.tolist() == [True, True, False]


def test_linear_derivative() -> None:
    values, mask = derivative(Loss.LINEAR, [5, LOW, TOP], [7, 1, -1])
    assert values.tolist() == [-2, LOW, TOP]
    assert mask.tolist() == [False, True, True]


def test_logistic_derivative() -> None:
    values, mask = derivative(Loss.LOGISTIC, [0, TOP, LOW, LOW], [0, ONE, 0, LOW])
    assert values.tolist() == [ONE // 2, 0, 0, TOP]
    assert mask.tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("full", "label", "expected"),
    [
        (ONE - 1, ONE, -ONE),
        (ONE, ONE, 0),  # exactly on the margin
        (1 - ONE, -ONE, ONE),
        (-ONE, -ONE, 0),
        (LOW, -ONE, 0),  # y FA = 2**31
        (LOW, ONE, -ONE),
        (TOP, -1, ONE),  # only the label's sign counts
        (0, 0, -ONE),
    ],
)
def test_hinge_derivative(full: int, label: int, expected: int) -> None:
    values, mask = derivative(Loss.HINGE, [full], [label])
    assert values.tolist() == [expected]
    assert not mask.any()


def test_delta() -> None:
    values, mask = delta([3, -3, LOW, TOP], Step.of(0.5))
    assert values.tolist() == [2, -1, LOW // 2, 1 << 30]
    assert not mask.any()
    values, mask = delta([TOP, LOW, 1], Step.of(65535.5))
    assert values.tolist() == [TOP, LOW, 65536]
    assert mask.tolist() == [True, True, False]


def test_update_by_hand() -> None:
    codes = np.array([[1, 8, 0], [1, 8, 15]])
    values, mask = update([100, LOW, 7], codes, [4, 4], 4)
    assert values.tolist() == [99, LOW, 3]  # 1/2 rounds to 1, 15/4 to 4
    assert mask.tolist() == [False, True, False]


def test_update_takes_both_terms_from_the_same_weights_and_saturates_once() -> None:
    codes = np.array([[-8]])
    values, mask = update([TOP], codes, [1 << 27], 3, l2_shift=4)
    assert values.tolist() == [TOP]  # + 2**27 - 2**27, never above the limit at the end
    assert not mask.any()
    assert update([8, -8, 24], np.zeros((1, 3)), [0], 3, l2_shift=4)[0].tolist() == [7, -8, 22]


def random_case(rng: np.random.Generator, loss: Loss) -> tuple[np.ndarray, ...]:
    samples, features = (int(n) for n in rng.integers(1, 30, 2))
    bits, signed = int(rng.integers(1, 9)), bool(rng.integers(2))
    banks = int(rng.choice([1, 2, 4, 8]))
    training = Training(
        loss=loss,
        bits=bits,
        signed=signed,
        banks=banks,
        batch=8 * int(rng.integers(1, 3)),
        step=Step.of(float(2.0 ** rng.integers(-12, 3) * rng.uniform(0.5, 1))),
        l2_shift=int(rng.choice([0, 4, 7, 23])),
        fraction_bits=int(rng.choice([16, 23])),
    )
    low = -(1 << training.shift) if signed else 0
    codes = rng.integers(low, 1 << training.shift, (samples, features))
    weights = rng.integers(LOW, TOP + 1, features) >> int(rng.integers(0, 24))
    labels = rng.integers(LOW, TOP + 1, samples) >> int(rng.integers(0, 10))
    if rng.random() < 0.3:
        weights[:] = rng.choice([LOW, TOP])
    if rng.random() < 0.3:
        codes[:] = rng.choice([low, (1 << training.shift) - 1])
    worker_of = np.sort(rng.integers(0, 3, features))
    group_of = worker_of * 4 + rng.integers(0, 4, features)
    return codes, labels, weights, training, Parts(worker_of, group_of)


@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize("seed", range(40))
def test_epoch_equals_the_scalar_specification(seed: int, loss: Loss) -> None:
    codes, labels, weights, training, parts = random_case(np.random.default_rng(seed), loss)
    expected, counts = scalar.epoch(
        codes.tolist(),
        labels.tolist(),
        weights.tolist(),
        training,
        parts.worker_of.tolist(),
        parts.group_of.tolist(),
    )
    trained, saturations = epoch(codes, labels, weights, training, parts)
    assert trained.tolist() == expected
    assert asdict(saturations) == {name: counts[name] for name in asdict(saturations)}


def test_random_cases_reach_every_saturation() -> None:
    total = Saturations()
    for seed in range(40):
        total += epoch(*random_case(np.random.default_rng(seed), Loss.LINEAR))[1]
    assert all(asdict(total).values()), total


def test_saturation_everywhere() -> None:
    training = replace(TRAINING, signed=True, step=Step.of(65535.5))
    codes = np.full((9, 6), -8)  # every feature is -1
    labels = np.full(9, TOP)
    weights = np.full(6, TOP)
    parts = Parts(np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 2, 2]))
    trained, counts = epoch(codes, labels, weights, training, parts)
    # 8 samples: both PA, FA, derivative and delta hit the negative limit, then all three groups.
    # The last one: both PA and FA hit the positive limit, FA - y is 0 and nothing moves.
    assert trained.tolist() == [LOW] * 6
    assert counts == Saturations(activation=18, full=9, derivative=8, delta=8, model=3)


def test_architectural_weights_change_only_with_the_mini_batch() -> None:
    training = replace(TRAINING, batch=16, banks=8, step=Step.of(1 / 16))
    codes = np.full((16, 1), 8)
    labels = np.full(16, ONE)
    trained, _ = epoch(codes, labels, [0], training)
    assert trained.tolist() == [ONE // 2]  # 16 times 1/16 * 1 * 1/2: all saw weight 0


def test_incomplete_mini_batch_equals_absent_samples_with_delta_zero() -> None:
    rng = np.random.default_rng(3)
    codes, labels = rng.integers(0, 16, (13, 5)), rng.integers(-ONE, ONE, 13)
    training = replace(TRAINING, l2_shift=4, batch=16)
    short, _ = epoch(codes, labels, np.full(5, ONE), training)
    codes = np.vstack([codes, np.zeros((3, 5), dtype=np.int64)])
    full, _ = epoch(codes, np.append(labels, [0] * 3), np.full(5, ONE), training)
    assert short.tolist() == full.tolist()


def test_result_does_not_depend_on_groups_nor_on_workers_without_saturation() -> None:
    rng = np.random.default_rng(4)
    codes, labels = rng.integers(0, 16, (40, 24)), rng.integers(-ONE, ONE, 40)
    weights = rng.integers(-ONE, ONE, 24) << 4  # whole sums: rounding per worker loses nothing
    training = replace(TRAINING, step=Step.of(0.01), batch=40)
    item, _ = epoch(codes, labels, weights, training)
    for workers in (1, 2, 3):
        parts = Parts(np.arange(24) * workers // 24, np.arange(24))
        assert epoch(codes, labels, weights, training, parts)[0].tolist() == item.tolist()


def test_saturation_depends_on_workers_but_not_on_groups() -> None:
    codes = np.full((8, 4), 15)
    weights = np.array([TOP, TOP, LOW, LOW])
    labels = np.zeros(8, dtype=np.int64)
    apart = Parts(np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64))
    mixed = Parts(np.array([0, 1, 0, 1]), np.arange(4))
    single = Parts.single(4)
    assert [
        epoch(codes, labels, weights, TRAINING, parts)[1].activation
        for parts in (apart, mixed, single)
    ] == [16, 0, 0]


def test_model_saturations_are_counted_per_group() -> None:
    training = replace(TRAINING, step=Step.of(65535.5))
    codes, labels = np.full((8, 6), 15), np.full(8, ONE)
    for groups, count in (([0] * 6, 1), ([0, 0, 1, 1, 2, 2], 3), (range(6), 6)):
        parts = Parts(np.zeros(6, dtype=np.int64), np.array(groups))
        assert epoch(codes, labels, np.zeros(6), training, parts)[1].model == count


def test_no_samples_and_inputs_untouched() -> None:
    weights = np.arange(3)
    trained, counts = epoch(np.zeros((0, 3), dtype=np.int64), [], weights, TRAINING)
    assert trained.tolist() == [0, 1, 2]
    assert counts == Saturations()
    epoch(np.full((8, 3), 15), np.full(8, ONE), weights, replace(TRAINING, l2_shift=4))
    assert weights.tolist() == [0, 1, 2]


def test_narrow_codes_give_the_same() -> None:
    rng = np.random.default_rng(5)
    training = replace(TRAINING, bits=8)
    codes, labels = rng.integers(0, 256, (20, 7)), rng.integers(-ONE, ONE, 20)
    wide = epoch(codes, labels, np.zeros(7), training)
    assert (
        wide[0].tolist() == epoch(codes.astype(np.uint8), labels, np.zeros(7), training)[0].tolist()
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bits": 0}, "bits must be 1..16, not 0"),
        ({"bits": 17}, "bits must be 1..16, not 17"),
        ({"banks": 17}, "banks must be 1..16, not 17"),
        ({"batch": 4, "banks": 4}, "batch must be at least 8 and a multiple of banks (4), not 4"),
        ({"batch": 12}, "batch must be at least 8 and a multiple of banks (8), not 12"),
        ({"l2_shift": 3}, "l2_shift must be 0 (off) or 4..23, not 3"),
        ({"l2_shift": 24}, "l2_shift must be 0 (off) or 4..23, not 24"),
        ({"fraction_bits": 27}, "fraction_bits must be 5..26, not 27"),
    ],
)
def test_illegal_training_says_what_is_legal(changes: dict, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        replace(TRAINING, **changes)
    assert str(error.value) == message


test_illegal_data = refuses(
    lambda samples, features, code: epoch(
        np.full((samples, features), code), np.zeros(8), np.zeros(3), TRAINING
    ),
    (7, 3, 0, r"labels must have shape \(7,\), not \(8,\)"),
    (8, 2, 0, r"weights must have shape \(2,\), not \(3,\)"),
    (8, 3, 16, r"codes must be 0\.\.15, not 16\.\.16"),
    (8, 3, -1, r"codes must be 0\.\.15, not -1\.\.-1"),
)
