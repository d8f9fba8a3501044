"""Tests tables 1, 3 and 4: their numbers, statements, and what they say where one does not hold.

``minnesota.mtx.gz`` holds the road map of a state in its own order: SuiteSparse's Gleich/minnesota.
"""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from sim.netsparse.golden.redundancy import redundancy
from sim.netsparse.reproduce import paper, structure
from sim.netsparse.reproduce.subjects import Subject, at_scale, part_of_the_paper, subjects
from sim.reproduce.report import Report
from sim.workloads.matrix_families import ROWS_OF_NODE
from tests.sim.netsparse.reproduce.outcomes import FEW, small


def verdicts(figure):
    return {claim.text.split(",")[0]: claim.holds for claim in figure.claims}


def test_rows_are_those_of_the_matrices(tmp_path):
    report = Report(
        title="NetSparse", method="", figures=[make(FEW) for make in structure.OF_MATRICES.values()]
    )
    assert report.write(tmp_path)[0] == "report.md"
    with open(tmp_path / "redundancy.csv") as file:
        rows = {row["matrix"]: row for row in csv.DictReader(file)}
    for subject in FEW:
        result = redundancy(subject.matrix, 128)
        row = rows[subject.family]
        assert float(row["su"]) == result.su
        assert float(row["sa_paper"]) == paper.MATRICES[subject.family].sa
        assert f"{result.nonzeros:,} nonzeros" in report.page()
        assert float(row["scale"]) == result.nonzeros / paper.MATRICES[subject.family].nonzeros
    with open(tmp_path / "destinations.csv") as file:
        rows = {row["matrix"]: float(row["destinations"]) for row in csv.DictReader(file)}
    assert rows["stokes"] == FEW[3].redundancy.destinations


def test_the_papers_numbers_keep_its_statements(monkeypatch):
    """These matrices have exactly what the paper prints."""

    def printed(subject):
        papers = paper.MATRICES[subject.family]
        result = redundancy(subject.matrix, 128)
        useful = 10_000
        return replace(
            result,
            useful=useful,
            unaware=round(useful * (papers.su + 1)),
            remote=round(useful * (papers.sa + 1)),
            shared=round(0.85 * useful),
            destinations=papers.destinations,
        )

    stored = {subject.family: printed(subject) for subject in FEW}
    monkeypatch.setattr(Subject, "redundancy", property(lambda self: stored[self.family]))
    for make in structure.OF_MATRICES.values():
        assert all(claim.holds for claim in make(FEW).claims)
    stored["queen"] = replace(
        stored["queen"], destinations=1.86, unaware=130 * stored["queen"].useful
    )
    stored["uk"] = replace(stored["uk"], shared=10)  # the mean is hardly less than a fifth below
    result = structure.redundancy_figure(FEW)
    assert result.claims[-1].holds
    stored["uk"] = replace(stored["uk"], shared=-10)
    assert not structure.redundancy_figure(FEW).claims[-1].holds
    assert not verdicts(result)["SU of each matrix within 25%"]
    assert "queen 129 against 74 (nonzeros of a row x" in result.claims[1].result
    result = structure.destinations_figure(FEW)
    assert [claim.holds for claim in result.claims] == [False, True, False]
    assert "no size of this family" in result.claims[0].result


def test_shape_of_the_paper():
    """Three numbers give both ratios back."""
    for matrix in paper.MATRICES.values():
        shape = structure.Shape.of_paper(matrix)
        assert 127 / shape.useful - 1 == pytest.approx(matrix.su)
        assert shape.nonzeros * shape.remote / shape.useful - 1 == pytest.approx(matrix.sa)


def test_most_that_is_shared_by_chance(tmp_path):
    """Three of four nonzeros are remote; two columns have one each, and one has two."""
    subject = small(tmp_path / "three.mtx", 3, [(1, 1), (2, 1), (3, 2), (2, 3)], 3, "europe")
    assert structure.shared_by_chance(subject) == pytest.approx((0 + 0 + 2 * 0.75) / 4)


@pytest.mark.parametrize("nodes", [8, 16, 32, 64, 128])
def test_real_roads_share_no_more_than_by_chance(nodes):
    """So no order of a road map that is like a real one brings europe near the paper's mean."""
    path = Path(__file__).with_name("minnesota.mtx.gz")
    roads = Subject(family="europe", text=str(path), nodes=nodes)
    assert (roads.rows, roads.matrix.nnz) == (2642, 6606)
    assert 0 < roads.redundancy.share_shared < 0.8 * structure.shared_by_chance(roads)


def test_the_mean_of_prs_weighs_matrices_by_the_papers():
    shares = dict.fromkeys(paper.MATRICES, 0.0) | {"stokes": 1.0}
    useful = {name: each.rows / (each.su + 1) for name, each in paper.MATRICES.items()}
    expected = useful["stokes"] / sum(useful.values())
    assert structure.mean_of_prs(FEW, shares) == pytest.approx(expected)


def test_runs_to_one_owner(tmp_path):
    """Of three nodes, node 0 asks 1, 1, 2 in a row, then 1, 2: five nonzeros make four runs."""
    places = [(1, 3), (1, 4), (1, 5), (2, 3), (2, 6), (5, 5)]
    assert structure.run_length(small(tmp_path / "six.mtx", 6, places, 3, "queen")) == 5 / 4


def test_scaled_families_have_so_many_rows():
    for family in paper.MATRICES:
        whole = Subject(family=family, text=at_scale(family, ROWS_OF_NODE[family], 8), nodes=8)
        half = Subject(family=family, text=at_scale(family, 0.5 * ROWS_OF_NODE[family], 8), nodes=8)
        assert whole.text == family
        assert half.rows == pytest.approx(whole.rows / 2, rel=0.1)


def test_all_matrices_are_the_same_part_of_the_papers():
    """What does not shrink with a matrix weighs the same in all; boxes have whole planes."""
    for item in subjects(scale=0.25, nodes=8, rows_of_node=part_of_the_paper()):
        assert item.scale == pytest.approx(0.25 / 32, rel=0.25), item.what
