"""Runs ``ingather reproduce``: what is left behind, and what is refused."""

import json
from dataclasses import fields

import pytest

from gen.papers.catalogue import PAPERS
from sim.p4sgd.reproduce import report
from sim.p4sgd.reproduce.requested import FIGURES
from sim.reproduce.figure import Figure, Panel, by_paper, by_us
from sim.reproduce.report import Report
from tests.gen.commands.running import refused, running


def figure(name, holds=True):
    return Figure(
        name=name,
        title=f"About {name}",
        source="section 5",
        quote="Faster.",
        setting="RTL.",
        rows=[{"x": 1, "y": 2}],
        panels=[Panel("y", lambda axes: axes.plot([1], [2], label="y"))],
        claims=[by_paper("it is faster", holds, "2 times"), by_us("it is new", True, "1")],
        note="Not all.",
    )


command = running("reproduce")


@pytest.fixture
def ingather(command, monkeypatch):
    """Run the command with made-up figures; return status, output and errors."""
    requested = []

    def reproduce(names, provided, *, quick, progress):
        requested.append((list(names), quick, provided.link_latency))
        progress("measuring", 0, 1)
        figures = [figure(name, holds=name != "scale-up") for name in names]
        return Report(title="P4SGD", method="In RTL.", figures=figures)

    monkeypatch.setattr(report, "reproduce", reproduce)
    command.requested = requested
    return command


def test_leaves_a_report(ingather, tmp_path):
    status, out, err = ingather("p4sgd", "-o", "made", "--only", "scale-up", "--only", "allreduce")
    assert (status, err) == (0, "")
    assert ingather.requested == [(["scale-up", "allreduce"], False, 130)]
    built = tmp_path / "made"
    manifest = json.loads((built / "manifest.json").read_text())
    assert sorted(manifest["files"]) == sorted(
        ["report.md", "scale-up.csv", "scale-up.png", "allreduce.csv", "allreduce.png"]
    )
    text = (built / "report.md").read_text()
    assert "| it is faster | paper | 2 times | NO |" in text
    assert "| it is faster | paper | 2 times | yes |" in text
    assert "[About scale-up](#about-scale-up) | section 5 | paper: 0 of 1, ours: 1 of 1 |" in text
    assert "![About scale-up](scale-up.png)" in text
    assert (built / "scale-up.png").read_bytes().startswith(b"\x89PNG")
    assert "NO" in out
    assert "paper" in out
    assert "ours" in out

    status, _, _ = ingather("p4sgd", "-o", "made", "--quick", "--link-latency", 0)
    assert status == 0  # what was made by us may be made again
    assert ingather.requested[-1] == (list(FIGURES), True, 0)
    assert not (set(FIGURES) - {path.stem for path in built.glob("*.csv")})


def test_every_name_is_built():
    assert set(FIGURES) == {*report.OF_POINTS, *report.SIMULATED_ALONE, *report.OF_TRAININGS}
    for paper in PAPERS.values():
        assert len(set(paper.figure_names)) == len(paper.figure_names) > 0


def test_no_two_papers_have_an_option_of_one_name():
    names = [item.name for paper in PAPERS.values() for item in fields(paper.requested_class)]
    assert len(set(names)) == len(names)


def test_help_has_an_example(ingather):
    status, out, _ = ingather("--help")
    assert status == 0
    assert "ingather reproduce p4sgd --quick" in out
    for paper in PAPERS.values():
        for name in paper.figure_names:
            assert name in "".join(out.split())  # lines end at hyphens, too


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "'paper'"),
        (["p4sdg"], "did you mean p4sgd?"),
        (["p4sgd", "--only", "scaleup"], "did you mean scale-up?"),
        (["p4sgd", "--link-latency", "5000"], "link-latency"),
        (["p4sgd", "--link-latency", "-1"], "link-latency"),
        (["p4sgd", "--link-latency", "far"], "link-latency"),
        (["p4sgd", "--data", "gisette"], "--data must be NAME=FILE: gisette"),
        (["p4sgd", "--data", "avazu=x"], "--data takes gisette or rcv1, not avazu"),
        (["p4sgd", "--data", "rcv1=missing"], "--data: there is no file missing"),
        (["p4sgd", "--scale", "2"], "--scale is an option of netsparse, not of p4sgd"),
        (["netsparse", "--link-latency", "2"], "--link-latency is an option of p4sgd"),
        (["netsparse", "--scale", "0"], "--scale"),
        (["netsparse", "--matrix", "x.mtx"], "FAMILY=PATH: x.mtx"),
        (["netsparse", "--matrix", "arabik=x.mtx"], "did you mean arabic?"),
        (["netsparse", "--matrix", "uk=a.mtx", "--matrix", "uk=b.mtx"], "uk twice"),
        (["netsparse", "--matrix", "uk=uk:rows=9"], "must be a Matrix Market file: uk:rows=9"),
        (["netsparse", "--matrix", "uk=missing.mtx"], "missing.mtx"),
        (["netsparse", "--matrix", "uk=taken/few.mtx"], "3 rows are too few for 128 nodes"),
        (["p4sgd", "-o", "taken"], "taken"),
    ],
)
def test_bad_input_is_one_line_and_status_2(ingather, tmp_path, arguments, says):
    (tmp_path / "taken").mkdir()
    few = "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n"
    (tmp_path / "taken" / "few.mtx").write_text(few)
    refused(ingather, tmp_path, ("-o", "made", *arguments), says)
    assert ingather.requested == []


def test_nothing_is_left_of_a_failure(ingather, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "reproduce", fail)
    status, _, _ = ingather("p4sgd", "-o", "made")
    assert status == 130
    assert list(tmp_path.iterdir()) == []
