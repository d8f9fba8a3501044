import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.golden.arithmetic import Step, round_shift, saturate

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@pytest.mark.parametrize(
    ("value", "shift", "expected"),
    [
        (5, 0, 5),
        (-5, 0, -5),
        (1, 1, 1),  # ties go upwards
        (-1, 1, 0),
        (-3, 1, -1),
        (2, 2, 1),
        (-2, 2, 0),
        (-6, 2, -1),
        (-7, 2, -2),
        ((1 << 63) - 1, 63, 1),
        (-(1 << 63), 63, -1),
        (1 << 62, 63, 1),
        ((1 << 62) - 1, 63, 0),
    ],
)
def test_round_shift(value: int, shift: int, expected: int) -> None:
    assert round_shift(value, shift) == expected


@given(INT64, st.integers(2, 63))
def test_round_shift_is_floor_of_half_more(value: int, shift: int) -> None:
    exact = math.floor(Fraction(value, 1 << shift) + Fraction(1, 2))
    assert int(round_shift(value, shift)) == exact


def test_round_shift_accepts_narrow_arrays() -> None:
    narrow = np.array([127, -128], dtype=np.int8)
    assert round_shift(narrow, 1).tolist() == [64, -64]


def test_saturate() -> None:
    top = (1 << 31) - 1
    clamped, mask = saturate([top, top + 1, -top - 1, -top - 2, 0])
    assert clamped.tolist() == [top, top, -top - 1, -top - 1, 0]
    assert mask.tolist() == [False, True, False, True, False]
    assert saturate([9, -9], bits=4)[0].tolist() == [7, -8]


@pytest.mark.parametrize(
    ("value", "mantissa", "exponent"),
    [
        (1.0, 1 << 16, 16),
        (1 / 64, 1 << 16, 22),
        (0.1, 104858, 20),  # 104857.6
        (65535.5, (1 << 17) - 1, 1),
        (1 - 2.0**-20, 1 << 16, 16),  # carries
        (1 - 2.0**-18, 1 << 16, 16),  # a tie: upwards
        (2.0**-47, 1 << 16, 63),
        (2.0**-47 * (1 - 2.0**-30), 1 << 16, 63),
        (3 * 2.0**-63, 3, 63),
        (2.5 * 2.0**-63, 3, 63),
        (2.0**-63, 1, 63),
        (1e-300, 1, 63),
    ],
)
def test_step_of(value: float, mantissa: int, exponent: int) -> None:
    assert Step.of(value) == Step(mantissa, exponent)


@given(st.floats(2.0**-46, 65535))
def test_step_is_the_nearest(value: float) -> None:
    step = Step.of(value)
    assert 1 << 16 <= step.mantissa < 1 << 17
    assert abs(step.value - value) <= 2.0 ** -(step.exponent + 1)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, -math.inf, 131071.5, 5e-324])
def test_illegal_steps_say_what_is_legal(value: float) -> None:
    with pytest.raises(ValueError, match=r"must be above 0 and at most 131071 with .* of 2: "):
        Step.of(value, 2)


def test_step_fields_are_checked() -> None:
    with pytest.raises(ValueError, match=r"mantissa must be 1\.\.131071, not 131072"):
        Step(1 << 17, 3)
    with pytest.raises(ValueError, match=r"exponent must be 1\.\.63, not 0"):
        Step(1, 0)
