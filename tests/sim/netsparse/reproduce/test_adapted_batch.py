"""Judges batches that a test makes fast or slow."""

from dataclasses import replace
from math import log2

import pytest

from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.adapted_batch import ADAPTED, BATCHES, tuned
from tests.sim.netsparse.reproduce.outcomes import FEW, broken, outcome


def slope(best, batch):
    return 1000 * 1.2 ** abs(log2(batch / best))


@pytest.mark.parametrize("best", BATCHES.values())
def test_the_best_is_chosen_from_any_first(best):
    for first in BATCHES.values():
        batches = tuned(first, lambda batch: slope(best, batch))
        assert (batches[0], batches[-1]) == (first, best)
        assert len({*batches}) <= len(BATCHES)


def test_quick_leaves_matrices_out():
    points = ADAPTED.points(FEW, True)
    assert len(points) == 3 * len(BATCHES)
    figure = ADAPTED.figure(FEW, True, {point: outcome(point) for point in points})
    assert {row["matrix"] for row in figure.rows} == {*ADAPTED.quick}
    assert "stokes" not in figure.setting


@pytest.mark.parametrize(
    ("time", "fails"),
    [
        (lambda family, batch: slope(65536 if family == "uk" else 4096, batch), []),
        (
            lambda family, batch: slope(paper.MATRICES[family].batch, batch),
            ["statically selected batch sizes are often", "a matrix is faster"],
        ),
        (  # the best lies behind slower ones, where it is not looked for
            lambda family, batch: {paper.MATRICES[family].batch: 900, 2048: 800}.get(batch, 1500),
            ["the batch that is chosen takes at most", "a matrix is faster"],
        ),
    ],
    ids=["elsewhere", "the paper's", "two valleys"],
)
def test_claims_hold_or_fail(time, fails):
    result = {}
    for family, own in ADAPTED.runs(FEW).items():
        for point in own.values():
            run, cycles = outcome(point), time(family, point.batch)
            result[point] = replace(run, figures=run.figures | {"cycles": cycles})
    reported = broken(ADAPTED.figure(FEW, False, result).claims)
    assert [text[: len(start)] for text, start in zip(reported, fails, strict=True)] == fails
