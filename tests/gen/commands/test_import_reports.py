"""Runs ``ingather import-reports`` on small circuits, beside reports made for them."""

import json
from pathlib import Path

import pytest

from gen.base.errors import UserError
from gen.commands import import_reports as import_reports_command
from gen.commands import synth as synth_command
from gen.commands.import_reports import import_reports
from tests.gen.console import ingather
from tests.gen.synth.circuits import CIRCUITS
from tests.gen.synth.packed import packed

REPORTS = Path(__file__).parents[1] / "synth" / "reports"
COLUMNS = "Total LUTs | Logic LUTs | LUTRAMs | SRLs | FFs | RAMB36 | RAMB18 | URAM | DSP Blocks"
TABLE = f"""
+-----------+------------+---+
| Instance | Module | {COLUMNS} |
+-----------+------------+---+
| circuits | (top) | 24 | 12 | 8 | 4 | 106 | 1 | 0 | 1 | 1 |
|   sum | sum_16 | 8 | 8 | 0 | 0 | 49 | 0 | 0 | 0 | 0 |
|   one | parity_6_1 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |
+-----------+------------+---+
"""


@pytest.fixture(autouse=True)
def circuits(monkeypatch):
    monkeypatch.setattr(synth_command, "find_design", lambda name: CIRCUITS)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.rpt"
    path.write_text(TABLE)
    return path


def test_modules_total_and_timing(table, capsys):
    import_reports("circuits", utilization=[table], timing=REPORTS / "timing.rpt", json_file="-")
    content = json.loads(capsys.readouterr().out)
    rows = {row["module"]: row for row in content["modules"]}
    assert list(rows) == ["sum_16", "parity_6", "circuits"]
    assert rows["sum_16"]["ratios"]["lut"] == 0.5
    assert rows["parity_6"]["count"] == 2
    assert rows["parity_6"]["listed"] == 1
    assert content["total"]["vivado"]["ff"] == 106
    assert content["total"]["ratios"]["ff"] == 0.5
    assert content["timing"]["wns"] == -0.213


def test_the_table_is_for_people_and_reports_may_be_two(table, capsys, tmp_path):
    target = tmp_path / "a.json"
    import_reports("circuits", utilization=[table, REPORTS / "flat.rpt"], json_file=str(target))
    out = capsys.readouterr().out
    assert "16 > 8 (0.50)" in out
    assert json.loads(target.read_text())["timing"] is None


def test_reports_of_another_design_are_refused():
    with pytest.raises(UserError, match=r"no module of circuits is in .*; its top is circuits"):
        import_reports("circuits", utilization=[REPORTS / "hierarchical.rpt"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"utilization": [REPORTS / "timing.rpt"]}, "is no utilization report"),
        ({"utilization": [REPORTS / "none.rpt"]}, "cannot read"),
        (
            {"utilization": [REPORTS / "flat.rpt"], "timing": REPORTS / "flat.rpt"},
            "is no timing summary",
        ),
        ({"utilization": [REPORTS / "flat.rpt"], "json_file": "."}, "is a folder"),
    ],
)
def test_mistakes_are_reported_before_any_work(options, words, monkeypatch):
    monkeypatch.setattr(import_reports_command, "estimate", None)
    with pytest.raises(UserError) as error:
        import_reports("circuits", **options)
    assert words in str(error.value)


def test_help_has_an_example():
    result = ingather("import-reports", "--help")
    assert result.returncode == 0
    assert "Example: ingather import-reports" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("p4sgd-engine",), "design p4sgd-engine needs --utilization FILE"),
        (("none.txt",), "cannot read none.txt: No such file"),
        (("nowhere/none",), "no design 'nowhere/none'; "),
        ((REPORTS / "flat.rpt",), "is no evidence of a build"),
        ((REPORTS / "flat.rpt", "--preset", "tiny"), "has its design and reports: no option fits"),
    ],
)
def test_mistakes_are_one_line(arguments, words):
    result = ingather("import-reports", *arguments)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_evidence_as_json(tmp_path, capsys):
    path = tmp_path / "evidence.txt"
    path.write_text(packed())
    import_reports(str(path), json_file="-")
    content = json.loads(capsys.readouterr().out)
    sync, hbm = content["clocks"]
    assert sync["differs"].startswith("the estimate has 7 levels of 8, so that it should be met")
    assert (sync["estimate"]["needs"], sync["vivado"]["path"]["levels"]) == (3.55, 8)
    assert (hbm["vivado"], hbm["differs"]) == (None, "")
    assert content["timing"]["wns"] == -0.213
    assert content["vivado"] == "2022.1.1"
    assert [row["module"] for row in content["modules"]] == ["engine_8x8"]


def test_evidence_of_another_design_is_refused(tmp_path):
    path = tmp_path / "evidence.txt"
    path.write_text(packed().replace('"engine_8x8"', '"other"').replace('"bank"', '"b"'))
    with pytest.raises(UserError, match=r"no module of p4sgd-engine is in .*; its top is other"):
        import_reports(str(path))
