"""Checks the times of an epoch, of measurements that are made up."""

import pytest

from sim.p4sgd.golden.formula import PAPER_DATA
from sim.p4sgd.reproduce import epoch_time
from sim.p4sgd.reproduce.paper_size import Kind
from tests.sim.p4sgd.reproduce.figures import TURNAROUNDS, broken, by_the_formula

LINK = 100


def make(quick, bend=lambda point, cycles: cycles):
    points = epoch_time.points(quick, LINK)
    return epoch_time.figure(quick, LINK, by_the_formula(points, bend))


@pytest.mark.parametrize("quick", [False, True])
def test_by_the_formula(quick, tmp_path):
    result = make(quick)
    assert broken(result) == []
    workers = epoch_time.QUICK_WORKERS if quick else epoch_time.WORKERS
    assert len(result.rows) == len(epoch_time.BATCHES) * len(PAPER_DATA) * len(workers)
    assert {row["turnaround"] for row in result.rows} == set(TURNAROUNDS.values()) & {300}
    kinds = {row["source"] for row in result.rows}
    assert (kinds == {Kind.FORMULA}) is quick
    rows = {(row["batch"], row["data"], row["workers"]): row for row in result.rows}
    seconds = float(rows[64, "avazu", 4]["epoch_seconds"])
    mini_batches = -(-40_428_967 // 64)
    assert seconds == pytest.approx(mini_batches * (8 * 489 * 4 + 300) / 250e6, rel=0.001)
    assert len(result.write(tmp_path)) == 2


def test_workers_that_do_not_help():
    texts = broken(make(False, lambda point, cycles: 9_999 * point.batch))
    assert "more workers take less time for an epoch" in texts


def test_a_large_batch_that_does_not_scale():
    def bend(point, cycles):
        return 4 * cycles if point.batch == 256 and point.workers == 8 else cycles

    assert "a larger mini-batch scales no worse" in broken(make(False, bend))
