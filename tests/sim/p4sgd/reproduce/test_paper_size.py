"""Checks which points of the paper's size are simulated, and what is said of each."""

import pytest

from sim.p4sgd.golden.formula import DataSize, Machine
from sim.p4sgd.reproduce.paper_size import (
    SECONDS,
    Kind,
    Size,
    chosen,
    requested_points,
    rows_of,
    seconds,
)
from sim.p4sgd.reproduce.points import measure, turnaround
from sim.p4sgd.reproduce.scaling import BATCH_SIZE, SCALE_OUT, SCALE_UP
from tests.sim.p4sgd.reproduce.figures import TURNAROUNDS, by_the_formula

LINK = 20
START = 40  #: cycles from a run's start to its first word, and from its last to its end
SMALL = Machine(workers=2, engines=2, lanes=64)
SIZES = [Size(DataSize("few", 100, 600), SMALL, batch) for batch in (16, 32)]


@pytest.mark.parametrize("sweep", [BATCH_SIZE, SCALE_UP, SCALE_OUT], ids=lambda sweep: sweep.name)
def test_an_hour_is_spent_and_no_more(sweep):
    sizes = sweep.sizes(sweep.values)
    points = chosen(sizes, LINK)
    assert sum(map(seconds, points.values())) <= SECONDS
    assert set(points) == {size for size in sizes if not size.refused}  # all at least in part
    kinds = {size.data.name: set() for size in sizes}
    for size, point in points.items():
        kinds[size.data.name].add(point.whole)
        assert (point.features, point.batch) == (size.data.features, size.batch)
        assert point.pass_samples == (size.data.samples if point.whole else size.batch)
    assert kinds["gisette"] == {True}
    assert kinds["avazu"] == {False}


def test_the_cheapest_come_first_and_whole_epochs_last():
    few, many = SIZES[0], Size(DataSize("many", 100, 60_000), SMALL, 16)
    steady = {size: seconds(size.point(LINK)) for size in (few, many)}
    whole = {size: seconds(size.point(LINK, True)) for size in (few, many)}

    def kinds(most):
        result = chosen([many, few], LINK, most)
        return {size.data.name: point.whole for size, point in result.items()}

    assert kinds(0.99 * steady[few]) == {}
    assert kinds(1.01 * steady[few]) == {"few": False}
    assert kinds(1.01 * sum(steady.values())) == {"few": False, "many": False}
    assert kinds(1.01 * (whole[few] + steady[many])) == {"few": True, "many": False}
    assert kinds(1.01 * sum(whole.values())) == {"few": True, "many": True}


def test_data_that_memory_does_not_hold_have_no_whole_epoch():
    size = Size(DataSize("long", 40_000_000, 600), SMALL, 16)
    assert not size.fits
    assert [point.whole for point in chosen([size], LINK, 1e12).values()] == [False]


def test_each_row_says_how_it_came_about(monkeypatch):
    sizes = [*SIZES, Size(DataSize("refused", 9, 10**9), SMALL, 16)]
    whole = sum(seconds(size.point(LINK, True)) for size in SIZES)
    for most, kinds in (
        (1e9, [Kind.EPOCH, Kind.EPOCH, Kind.FORMULA]),
        (0.99 * whole, [Kind.BATCHES, Kind.EPOCH, Kind.FORMULA]),
        (0.0, [Kind.FORMULA] * 3),
    ):
        monkeypatch.setattr(chosen, "__defaults__", (most,))
        rows = rows_of(sizes, LINK, by_the_formula(requested_points(sizes, LINK)))
        assert [row["source"] for row in rows] == kinds
        assert [row["mini_batch_cycles"] == "" for row in rows] == [
            kind is Kind.FORMULA for kind in kinds
        ]
        assert {row["turnaround"] for row in rows} == {TURNAROUNDS["pipelined"]}
    assert rows[2]["refused"]


@pytest.mark.long  # the same points of other sizes are measured in test_points.py
def test_an_epoch_on_the_rtl_is_the_formula_s():
    """100 samples are 6.25 or 3.125 mini-batches; until the first word, START cycles pass."""
    requested = requested_points(SIZES, LINK)
    assert [point.whole for point in requested] == [True, True, False]
    measured = measure(requested, lambda *_: None)
    for point in requested[:2]:
        ideal = point.ideal(turnaround(point, measured)) * point.batches
        assert ideal < measured[point].cycles <= ideal + START
        mean = measured[point].batch_cycles
        assert measured[point].cycles == pytest.approx(mean * point.batches)
        assert measured[point].seconds > 0
        assert measured[point].workers[0]["micro_batches"] == 13
