"""Tests matrices of the reproduction that are real files, and the page that says where they are."""

import csv
import gzip
import re
from pathlib import Path

import pytest
from scipy.io import mmwrite

from sim.netsparse.golden.redundancy import redundancy
from sim.netsparse.reproduce import paper
from tests.gen.commands.running import running
from tests.sim.netsparse.cases import web

PAGE = Path(__file__).parents[4] / "sim/workloads/matrix_families/README.md"
ROW = re.compile(r"\| (\w+) \| \[.*?\]\(https://sparse\.tamu\.edu/\S+\) \| ([\d,]+) \| ([\d,]+) \|")

command = running("reproduce")


def rows_of(path):
    with open(path) as file:
        return {row["matrix"]: row for row in csv.DictReader(file)}


def test_a_real_file_stands_in_the_place_of_a_family(command, tmp_path):
    """The first 1,000 pages of a real crawl are arabic; the other four are generated."""
    matrix = web()
    matrix.data[:] = 1  # a pattern, as it is published
    mmwrite(tmp_path / "web.mtx", matrix.tocoo(), field="pattern")
    (tmp_path / "web.mtx.gz").write_bytes(gzip.compress((tmp_path / "web.mtx").read_bytes()))
    only = ("--only", "redundancy", "--only", "destinations", "--scale", "0.02")
    status, _, err = command("netsparse", "-o", "made", "--matrix", "arabic=web.mtx.gz", *only)
    assert (status, err) == (0, "")
    expected, row = redundancy(matrix, 128), rows_of(tmp_path / "made/redundancy.csv")["arabic"]
    assert (row["source"], int(row["rows"])) == ("web.mtx.gz", 1000)
    assert int(row["nonzeros"]) == matrix.nnz
    assert float(row["su"]) == expected.su
    assert float(row["share_shared"]) == expected.share_shared
    row = rows_of(tmp_path / "made/destinations.csv")["arabic"]
    assert float(row["destinations"]) == expected.destinations
    text = (tmp_path / "made/report.md").read_text()
    assert "web.mtx.gz: 1,000 rows" in text
    assert "uk:rows=11904: 11,904 rows" in text


def test_the_page_has_matrices_of_the_papers_size():
    counts_of = {
        name: [int(each.replace(",", "")) for each in counts]
        for name, *counts in ROW.findall(PAGE.read_text())
    }
    assert set(counts_of) == set(paper.MATRICES)
    for name, (rows, nonzeros) in counts_of.items():
        assert rows == pytest.approx(paper.MATRICES[name].rows, rel=0.05)
        assert nonzeros == pytest.approx(paper.MATRICES[name].nonzeros, rel=0.005)
