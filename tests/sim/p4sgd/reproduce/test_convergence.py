"""Checks that epochs to the same loss are counted, not assumed."""

import pytest

from sim.p4sgd.reproduce.convergence import Convergence, claims, judged
from sim.p4sgd.training_report import Row


def training(rtl, double, exact=True):
    rows = [
        Row(number, r, 0.9, r, 0.9, d, 0.9, *[None] * 6, exact, {"cycles": 7}, {})
        for number, (r, d) in enumerate(zip(rtl, double, strict=True), 1)
    ]
    return Convergence("it", rows)


FALLING = [1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]  # the target is the sixth


@pytest.mark.parametrize(
    ("rtl", "expected"),
    [
        (FALLING, True),
        ([2.0, *FALLING[:-1]], True),
        ([2.0, 2.0, *FALLING[:-2]], False),
        ([*FALLING[2:], 0.1, 0.1], False),
        ([1.0] * 8, False),
    ],
)
def test_same_epochs(rtl, expected):
    result = training(rtl, FALLING)
    assert result.target == pytest.approx(0.303)
    same, exact = claims([result])
    assert same.holds is expected
    assert exact.holds


def test_bit_exactness_is_a_claim():
    assert [claim.holds for claim in claims([training(FALLING, FALLING, False)])] == [True, False]


def test_figure_has_a_row_an_epoch(tmp_path):
    figure = judged([training(FALLING, FALLING)], 100)
    assert len(figure.rows) == 8
    figure.write(tmp_path)
    assert len((tmp_path / "convergence.csv").read_text().splitlines()) == 9
