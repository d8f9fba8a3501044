"""Adds up floats of several workers by golden all-reduces, beside NumPy's sums in float64."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gen.software.copies import copied, imported
from sim.golden.reduction.wide_frames import Operation
from sim.host.switch.block_floats import (
    NOTHING,
    add_up,
    as_float64,
    as_type,
    error_bound,
    exponents,
    floats,
    mantissas,
)
from tests.sim.golden.reduction.wide_network import reduced, setup

TYPES = {np.float32: 24, np.uint16: 8}  # with the bits of a significand


def exactly(numbers, operation):
    """Return what a switch that never clamps makes of the workers' numbers."""
    exact = np.max(numbers, 0) if operation == "MAX" else np.sum(numbers, 0, dtype=np.int64)
    assert np.abs(exact).max(initial=0) < 1 << 31
    return exact.astype(np.int32)


def added_up(rows, block, all_reduce=exactly):
    """Return each worker's sums, and the exponents of all."""
    workers = len(rows)
    tops = all_reduce([exponents(row, block) for row in rows], "MAX")
    whole = [mantissas(row, tops, workers, block) for row in rows]
    return floats(all_reduce(whole, "SUM"), tops, workers, block, rows[0].dtype), tops


def check(rows, result, tops, block):
    """Assert that the sums are as near to NumPy's as the module says."""
    numbers = np.array([as_float64(row) for row in rows])
    exact, sums = numbers.sum(0), as_float64(result)
    slack = len(rows) * np.spacing(np.abs(numbers).sum(0))  # of NumPy's sum
    bits = 31 - math.ceil(math.log2(len(rows)))
    bound = np.ldexp(float(len(rows)), tops - bits - 1)
    assert (error_bound(tops, len(rows), block) == np.repeat(bound, block)).all()
    most = np.repeat(bound, block)[: len(exact)] + slack
    step = np.maximum(np.abs(exact) + most, 2.0**-126) * 2.0 ** -TYPES[rows[0].dtype.type]
    beyond = np.abs(exact) + most >= np.finfo(np.float32).max * (1 - 2.0**-8)
    near = np.abs(sums - exact) <= most + step * 1.01  # bfloat16 is rounded twice
    assert (near | beyond).all()
    assert not np.isinf(sums[~beyond]).any()


@st.composite
def vectors(draw):
    """Draw vectors of all workers, of numbers from all that a type has, or near each other."""
    dtype, workers = draw(st.sampled_from([*TYPES])), draw(st.sampled_from([1, 2, 3, 31, 32]))
    size, low = draw(st.integers(0, 9)), draw(st.sampled_from([2.0**-149, 1.0, 2.0**127]))
    span = st.floats(-2 * low, 2 * low, width=32) if low < 2 else st.floats(-low, low, width=32)
    every = st.floats(width=32, allow_nan=False, allow_infinity=False)
    numbers = draw(arrays.arrays(np.float32, (workers, size), elements=span | every))
    most = np.float32(3e38 if dtype is np.uint16 else np.inf)  # bfloat16's largest is 3.39e38
    return [as_type(np.clip(row, -most, most), dtype) for row in numbers]


@settings(deadline=None, max_examples=300)
@given(vectors(), st.integers(1, 4))
def test_sums_are_as_near_as_the_bound(rows, block):
    check(rows, *added_up(rows, block), block)


def test_largest_mantissas_do_not_overflow_and_ones_are_exact():
    for workers in range(1, 33):
        for value in (np.nextafter(np.float32(2), np.float32(0)), np.float32(1), np.float32(1e-45)):
            rows = [np.full(3, value) for _ in range(workers)]
            result, _ = added_up(rows, 2)
            assert result.tolist() == [np.float32(workers * np.float64(value))] * 3


def test_bfloat16_is_rounded_to_even():
    halves = np.array([0x3F80_8000, 0x3F81_8000, 0x3F80_8001, 0x3F81_7FFF], np.uint32)
    rounded = [0x3F80, 0x3F82, 0x3F81, 0x3F81]
    assert as_type(halves.view(np.float32), np.uint16).tolist() == rounded


def test_zeros_of_either_sign_and_no_numbers():
    result, tops = added_up([np.float32([0, -0.0]), np.float32([-0.0, 0])], 2)
    assert (result.tobytes(), tops.tolist()) == (bytes(8), [NOTHING])
    assert added_up([np.float32([])] * 2, 2)[0].size == 0


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_refused_on_all_workers(value):
    rows = [np.float32([1, 2, 3]), np.float32([1, 2, value])]
    with pytest.raises(ValueError, match="an infinity or a NaN in block 1"):
        added_up(rows, 2)

    def all_reduce(numbers, operation):
        return exactly([numbers, exponents(rows[1], 2)], operation)

    for row in rows:
        with pytest.raises(ValueError, match="block 1"):
            add_up(row, 2, all_reduce, 2)


def test_other_types_and_too_many_workers_are_refused():
    with pytest.raises(ValueError, match="float32, or bfloat16 as uint16: float64"):
        exponents(np.zeros(3))
    with pytest.raises(ValueError, match="from 1 to 32: 33"):
        mantissas(np.float32([1]), np.int32([1]), 33)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_sums_through_the_golden_switch_on_bad_links(workers, dtype, seed):
    random, generator = Random(f"{seed} {workers}"), np.random.default_rng(seed)
    switch, ends = setup(workers, slots=5, length=16, timeout=90)

    def all_reduce(numbers, operation):
        reduced(random, switch, ends, numbers, Operation[operation], bad=0.3)
        results = {end.result.tobytes() for end in ends}
        assert len(results) == 1
        return ends[0].result

    scale = np.exp2(generator.integers(-40, 40, 300))
    rows = [as_type(np.float32(generator.normal(size=300) * scale), dtype) for _ in range(workers)]
    check(rows, *added_up(rows, 16, all_reduce), 16)
    assert switch.saturations == 0


def test_it_stands_alone_in_a_host_package():
    (text,) = copied(["sim.host.switch.block_floats"], "host").values()
    assert {*imported(text)} == {"collections", "typing", "numpy"}
