"""All figures of small graphs: what they are made of, and what their claims say."""

import csv

import numpy as np
import pytest

from sim.switchgnn.reproduce import orders, paper, subjects
from sim.switchgnn.reproduce.asked import FIGURES, SwitchGnnAsked
from sim.switchgnn.reproduce.report import reproduce
from sim.switchgnn.reproduce.subjects import Subject, share_of_top
from tests.sim.switchgnn.cases import star


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """All figures, with fewer workers than the paper's, and where they were written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper, "MOST_WORKERS", 16)
        patch.setattr(subjects, "WORKERS", (4, 8, 16))
        patch.setattr("sim.switchgnn.reproduce.report.QUICK_WORKERS", (4, 16))
        patch.setattr(orders, "SMALL", (4, 5, 6))
        asked = SwitchGnnAsked(graph_scale=0.08)
        made = reproduce(FIGURES, asked, quick=True, progress=lambda *_: None)
        folder = tmp_path_factory.mktemp("report")
        made.write(folder)
    return made, folder


def figure(report, name):
    (found,) = (each for each in report[0].figures if each.name == name)
    return found


def test_every_figure_is_written(report):
    made, folder = report
    assert [each.name for each in made.figures] == list(FIGURES)
    for name in FIGURES:
        assert (folder / f"{name}.png").stat().st_size > 1000
        with open(folder / f"{name}.csv") as file:
            assert len(list(csv.DictReader(file))) >= 2
    assert "Made with `--quick`" in (folder / "report.md").read_text()


def test_plans_are_between_the_full_graph_and_an_unlimited_memory(report):
    for row in figure(report, "strawman").rows:
        assert -1 < row["unlimited"] <= row["slices"] <= row["destinations"] < 0.5
        assert row["unlimited"] <= row["strawman"] <= row["multicast"] < 0
    for row in figure(report, "memory").rows:
        assert row["slices"] <= row["multi-level"]
        assert row["blocks"] >= row["levels"] >= 1
    claim = figure(report, "memory").claims[2]
    assert claim.holds
    assert "in slices never send more" in claim.text


def test_the_star_is_the_papers_and_the_ring_is_up_to_six_vertices(report):
    made = figure(report, "star-ring")
    worst = {(row["graph"], row["n"]): row["worst"] for row in made.rows}
    assert worst == {
        **{("star", count): 2 * count - 2 for count in (4, 5, 6)},
        **{("ring", count): count + 2 for count in (4, 5, 6)},
    }
    claims = made.claims
    assert [claim.holds for claim in claims] == [True, True, False, True, True]


def test_blocks_that_wait_for_each_other_take_no_less_time_than_together(report):
    for row in figure(report, "time").rows:
        assert row["multi-level, together"] <= row["multi-level"]
        assert row["G3"] <= row["BNS-GCN"]


def test_a_claim_that_does_not_hold_says_so(report):
    """Few workers copy a vertex less often than the paper's 128."""
    claim = figure(report, "copies").claims[0]
    assert not claim.holds
    assert float(claim.found) < paper.COPIES


def test_memories_are_in_proportion_to_the_graph():
    cut = Subject("reddit", 0.02).cut(4)
    part = 400 / paper.DATA_SETS["reddit"].vertices
    assert cut.aggregators(100) == int(100e6 * part / (602 * 4))
    assert cut.aggregators(100, slices=True) == int(100e6 * part / 128)
    assert cut.multilevel(100) is cut.multilevel(100)


def test_the_share_of_the_top_vertices():
    assert share_of_top(star(5), 0.2) == 0.5
    assert share_of_top(star(5), 1) == 1
    assert np.isclose(share_of_top(star(5), 0.4), 5 / 8)
