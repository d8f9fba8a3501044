"""Checks that statements on what doubles are decided by the numbers."""

import csv

import pytest

from sim.p4sgd.reproduce.scaling import BATCH_SIZE, SCALE_OUT, SCALE_UP
from tests.sim.p4sgd.reproduce.figures import TURNAROUNDS, broken, by_the_formula

SWEEPS = [BATCH_SIZE, SCALE_UP, SCALE_OUT]
LINK = 100


def make(sweep, bend=lambda point, cycles: cycles, quick=False):
    return sweep.figure(quick, LINK, by_the_formula(sweep.points(quick, LINK), bend))


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.name)
def test_the_formula_keeps_every_statement(sweep, quick, tmp_path):
    figure = make(sweep, quick=quick)
    assert broken(figure) == []
    assert figure.write(tmp_path) == [f"{sweep.name}.csv", f"{sweep.name}.png"]
    with open(tmp_path / f"{sweep.name}.csv") as file:
        rows = list(csv.DictReader(file))
    measured = [row for row in rows if row["data"] == "zeros"]
    assert len(measured) == sum(map(len, sweep.series(quick, LINK).values()))
    assert len(rows) > len(measured)
    assert all(float(row["turnaround"]) == TURNAROUNDS["pipelined"] for row in measured)
    assert (tmp_path / f"{sweep.name}.png").read_bytes().startswith(b"\x89PNG")
    for claim in figure.claims:
        assert f"| {claim.text} | {claim.source} | {claim.result} | yes |" in figure.text()


@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.name)
def test_a_last_step_that_does_not_help(sweep):
    *_, before, last = next(iter(sweep.series(False, LINK).values()))
    slow = before.ideal(300) / before.batch * last.batch

    def bend(point, cycles):
        return slow if point == last else cycles

    result = broken(make(sweep, bend))
    assert sweep.rises in result
    assert any("of the formula" in text for text in result)


@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.name)
def test_features_that_do_not_count(sweep):
    """All numbers of features get the cycles of the first."""
    series = sweep.series(False, LINK)
    first = next(iter(series))
    cycles = {
        point: other.ideal(300)
        for own in series.values()
        for point, other in zip(own, series[first], strict=True)
    }
    result = broken(make(sweep, lambda point, own: cycles.get(point, own)))
    assert sweep.by_features in result
    assert sweep.rises not in result


def test_three_per_cent_are_the_limit():
    requested = SCALE_UP.points(True, LINK)[0]
    for share, count in ((1.029, 0), (1.031, 1), (0.969, 1)):

        def bend(point, cycles, share=share):
            return cycles * share if point == requested else cycles

        texts = broken(make(SCALE_UP, bend, True))
        assert len([text for text in texts if text.endswith("of the formula")]) == count


def test_near_linear_is_decided_by_the_turnaround():
    """Here the network takes a thousand times as long."""
    measurements = by_the_formula(SCALE_OUT.points(False, LINK))
    for point, result in measurements.items():
        measurements[point] = type(result)(result.batch_cycles + 300_000, result.workers)
    assert any("1 million" in text for text in broken(SCALE_OUT.figure(False, LINK, measurements)))
