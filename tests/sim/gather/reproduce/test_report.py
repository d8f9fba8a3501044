"""Figures of the paper: their statements hold on the RTL, and that every name is made."""

import csv

import pytest

from sim.gather.reproduce import paper
from sim.gather.reproduce.asked import FIGURES, GatherAsked
from sim.gather.reproduce.dma import copied, gathered
from sim.gather.reproduce.report import OF_RATES, reproduce


@pytest.fixture(scope="module")
def report():
    return reproduce(FIGURES, GatherAsked(), quick=True, progress=lambda *_: None)


def test_all_statements(report):
    assert [figure.name for figure in report.figures] == list(FIGURES)
    wrong = [claim for figure in report.figures for claim in figure.claims if not claim.holds]
    assert wrong == []


def test_all_that_is_written(report, tmp_path):
    files = report.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(files)
    for name in FIGURES:
        with open(tmp_path / f"{name}.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows
        assert all(any(key.startswith(("rtl", "gb_per_s")) for key in row) for row in rows)
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("round_trip", [0.1, 16])
def test_every_round_trip_that_may_be_asked_for(round_trip):
    """Points can be measured: a setting of the host holds the cycles."""
    asked = GatherAsked(round_trip=round_trip)
    for points, _ in OF_RATES.values():
        assert all(0 < one.latency_cycles < 1 << 12 for one in points(asked, quick=True))


def test_model_of_dma():
    """By hand: a gigabyte is read and written by the processor, then copied."""
    seconds = 1e9 / 25.8e9 + 2 * 1e9 / 59e9
    assert gathered(paper.MEMCPY, paper.MEMORY) == pytest.approx(1e9 / seconds)
    two = 1e9 / 51.6e9 + 2 * 1e9 / 59e9
    assert gathered(paper.MEMCPY, paper.MEMORY, cards=2) == pytest.approx(1e9 / two)
    memory_bound = 3 * 1e9 / 40e9  # both copies together are faster than host memory
    assert gathered(paper.MEMCPY, 40e9, cards=2) == pytest.approx(1e9 / memory_bound)
    assert copied(1000, 1e9, 1e-6) == pytest.approx(0.5e9)


def test_requests_of_a_share_of_the_gpu():
    """The paper: 16 of 82 multiprocessors reach the limit of 768, 8.2 % the 325 that it needs."""
    assert paper.reads_of(16 / 82) == 768 == paper.reads_of(1)
    assert paper.reads_of(0.0826) == pytest.approx(paper.FULL_RATE_READS, rel=0.01)
