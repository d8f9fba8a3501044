"""Checks that statements on runs of clusters are decided by the numbers."""

import csv
from dataclasses import replace

import pytest

from sim.netsparse.reproduce import ablation, calibration, paper, speed_up, tail_node
from sim.netsparse.reproduce.judging import ranked, tried, written
from sim.netsparse.reproduce.points import RTL_MODEL
from sim.netsparse.reproduce.sensitivity import BATCH, CACHE, DELAY, SENSITIVITIES, UNITS
from sim.reproduce.figure import by_us
from tests.sim.netsparse.reproduce.outcomes import FEW, Order, broken, outcome

SHOWN = "traffic", "filter_coalesce", "prs_per_packet", "hit_rate", "prs_sa"
TAILS = {  # with goodput above that of SAOpt on matrices this small
    name: Order(**{each: getattr(matrix.tail, each) for each in SHOWN}, goodput=0.9)
    for name, matrix in paper.MATRICES.items()
}


def built(module, required, quick=True):
    """Return the figure made of what ``required`` says of each point."""
    result = {point: outcome(point, required(point)) for point in module.points(FEW, quick)}
    return module.figure(FEW, quick, result)


def test_a_statement_that_fails_says_what_trials_give():
    """A trial that changes nothing is left out, and what holds says nothing of trials."""

    def judge(value):
        return [by_us("it is small", value < 3, f"{value}"), by_us("it is", value > 0, f"{value}")]

    small, positive = tried(judge, 5, {"half": 2.5, "same": 5, "less": 4})
    assert small.result == "5. Tried, half: 2.5 (holds). Tried, less: 4"
    assert positive.result == "5"


def test_numbers_of_a_page_have_no_exponent():
    assert [written(value, ".2g") for value in (0.0123, 117, 4321)] == ["0.012", "120", "4300"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"uk": {"filter_coalesce": 0.96}}, ["order", "within 10 points"]),
        ({"queen": {"traffic": 20.9}}, ["factor of 2"]),
        ({"queen": {"traffic": 84.1}}, ["factor of 2"]),
        ({"queen": {"traffic": 83.9}}, []),
        ({"europe": {"prs_per_packet": 1.9}}, ["concatenated"]),
        ({"stokes": {"hit_rate": 0.4}}, ["caches hit"]),
        ({"stokes": {"goodput": 0.0001}}, ["goodput"]),
        ({"arabic": {"prs_sa": 0.9}}, ["fewer PRs"]),
    ],
)
def test_tail_node(tmp_path, change, expected):
    def required(point):
        changed = change.get(point.subject.family, {}) if point.scaled else {}
        return replace(TAILS[point.subject.family], **changed)

    figure = built(tail_node, required)
    columns = [f"{field.replace('_', ' ')} within" for field in tail_node.COLUMNS]
    result = [text for text in broken(figure.claims) if not any(item in text for item in columns)]
    assert len(result) == len(expected)
    assert all(text in claim for text, claim in zip(expected, result, strict=True))
    if not change:
        figure.write(tmp_path)
        with open(tmp_path / "tail-node.csv") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 2 * len(FEW)
        for row in rows:
            for name in SHOWN:
                assert float(row[name]) == pytest.approx(float(row[f"{name}_paper"]))
            assert row["engine"] == "model"


@pytest.mark.parametrize("falls", [False, True])
def test_larger_matrices_come_nearer(tmp_path, falls):
    """``--quick`` compares two sizes, a full run three; a real matrix has only one size."""
    points = tail_node.growing(FEW, quick=False)
    assert [point.subject.rows for point in points] == sorted(
        point.subject.rows for point in points
    )
    assert len(points) == 3
    assert points[1].subject in FEW

    def required(point):
        if point not in points:
            return TAILS[point.subject.family]
        factor = (25, 41, 28 if falls else 43)[points.index(point)]
        return replace(TAILS["queen"], traffic=factor)

    reported = [
        item for item in built(tail_node, required, quick=False).claims if "the larger" in item.text
    ]
    assert [item.holds for item in reported] == [not falls]
    assert reported[0].result.startswith("25 with 1/")
    assert len(tail_node.growing(FEW, quick=True)) == 2
    provided = replace(points[1].subject, text=str(tmp_path / "queen.mtx"))
    assert tail_node.growing([provided], quick=False) == []


def test_ablation_of_the_papers_numbers():
    def required(point, bend=1.0):
        step = ablation.steps(point).index(point)
        speed, traffic, goodput = paper.ABLATION[point.subject.family][point.elements][step]
        last = step == len(paper.STEPS) - 1
        return Order(
            speed_up=speed,
            traffic=traffic * (bend if last else 1),
            goodput=goodput / 100,
            link_bytes=1e9 / traffic,
        )

    figure = built(ablation, required, quick=False)
    assert broken(figure.claims) == []
    assert len(figure.rows) == 2 * 2 * 3 * 5
    result = broken(built(ablation, lambda point: required(point, 0.5)).claims, "scaled")
    assert {text.partition(": ")[2][:14] for text in result} == {"each mechanism", "traffic reduct"}
    result = broken(built(ablation, lambda point: required(point, 0.4)).claims, "scaled")
    assert any("factor of 2" in text for text in result)


def test_speed_up():
    def required(point, least=60.0):
        order = ranked({item.family: item.redundancy.su for item in FEW}).index(
            point.subject.family
        )
        return Order(speed_up=(least + 100 / (order + 1)) * point.elements**0.5)

    figure = built(speed_up, required, quick=False)
    assert not [text for text in broken(figure.claims) if "faster" in text or "follow" in text]
    assert not [text for text in broken(figure.claims) if "rise with K" in text]
    figure = built(speed_up, lambda _: Order(speed_up=0.9))
    texts = broken(figure.claims, "unscaled")
    assert "faster than both" in texts[0]
    assert any("33 on average" in text for text in texts)


LINES = {  # speed-ups of each value that keep what section 9.3 says, and some that do not
    "batch-size": (BATCH, lambda name, k: (0.5, 1.1, 1.0, 1.2 if name == "uk" else 0.9, 0.7)[k]),
    "rig-units": (UNITS, lambda _, k: (1, 2, 4, 6, 7, 7.5)[k]),
    "delay-cycles": (
        DELAY,
        lambda name, k: (1.0, 1.2, {"queen": 2.0, "europe": 1.25}.get(name, 1.5), 1.1, 0.4)[k],
    ),
    "cache-size": (CACHE, lambda name, k: 1 + (0.1 * k if name == "arabic" else 0.0)),
}


@pytest.mark.parametrize("name", SENSITIVITIES)
def test_sensitivity(name, tmp_path):
    sweep, speed = LINES[name]

    def run(bend):
        series, result = sweep.series(FEW, False), {}
        for family, (basis, *own) in series.items():
            result[basis] = outcome(basis, Order(speed_up=10.0))
            for k, point in enumerate(own):
                if point != basis:
                    factor = bend(family, k, speed(family, k))
                    result[point] = outcome(point, Order(speed_up=10.0 * factor))
        return sweep.figure(FEW, False, result)

    figure = run(lambda family, k, value: value)
    assert broken(figure.claims) == []
    assert figure.write(tmp_path) == [f"{name}.csv", f"{name}.png"]
    assert len(figure.rows) == len(FEW) * len(sweep.values)
    flat = {"batch-size": 1, "rig-units": 1, "delay-cycles": 2, "cache-size": 1}
    result = broken(run(lambda *_: 1.0).claims)
    assert len(result) >= flat[name], result
    if name == "rig-units":  # twice as many units as the paper's would be twice as fast
        (text,) = broken(run(lambda _, k, value: 14 if k == 5 else value).claims)
        assert "after 32 units" in text


def test_calibration():
    result = {point: outcome(point) for point in calibration.points(FEW, False)}
    assert broken(calibration.figure(FEW, False, result).claims) == []
    modelled = next(point for point in result if point.cluster == RTL_MODEL)
    for expected, text in (
        (Order(counted=1001.0), "PRs"),
        (Order(link_bytes=1.06e6), "bytes"),
        (Order(speed_up=40.0), "cycles"),
    ):
        bent = calibration.figure(FEW, False, result | {modelled: outcome(modelled, expected)})
        texts = broken(bent.claims)
        assert texts[0].startswith(text)
        assert len(texts) == 1
