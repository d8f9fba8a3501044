from pathlib import Path

import pytest

from gen.base.errors import UserError
from gen.synth.resources import Resources
from gen.synth.vivado import amount, read_report, read_utilization, tables_of

TEXT = """
| Not a table : a banner

+------+------+
| Name | Used |
+------+------+
| a    |    1 |
|   b  |  2.5 |
+------+------+
text
+---+
| x |
+---+
+---+
"""


def test_tables_with_their_lines_and_indents():
    first, second = tables_of(TEXT)
    assert first.header == ("Name", "Used")
    assert first.rows == ((7, (" a", "    1")), (8, ("   b", "  2.5")))
    assert second.header == ("x",)
    assert second.rows == ()


def test_a_table_may_end_with_the_file():
    (table,) = tables_of("+--+\n| a |\n+--+\n| b |")
    assert len(table.rows) == 1


@pytest.mark.parametrize(("cell", "number"), [(" 12 ", 12), ("2.5", 2.5), ("30(1.25%)", 30)])
def test_amounts(cell, number):
    assert amount(cell, Path("r"), 1) == number


def test_no_amount_is_reported_with_its_line():
    with pytest.raises(UserError, match=r"^r\.rpt, line 7: 'many' is no amount$"):
        amount(" many ", Path("r.rpt"), 7)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="cannot read"):
        read_report(tmp_path / "none.rpt")
    with pytest.raises(UserError, match="cannot read"):
        read_report(tmp_path)


REPORTS = Path(__file__).parent / "reports"


def test_by_hierarchy():
    report = read_utilization(REPORTS / "hierarchical.rpt")
    assert report.total is None
    result = {placed.path: placed for placed in report.instances}
    assert list(result) == [
        "board_top",
        "board_top/core",
        "board_top/core/bank_0",
        "board_top/core/bank_0/tree",
        "board_top/core/bank_1",
        "board_top/core/word_fifo",
        "board_top/shell",
    ]
    core = result["board_top/core"]
    assert core.module == "engine_8x8"
    assert core.use == Resources(lut=9000, lutram=20, ff=15000, dsp=512, bram18=1, uram=66)
    assert result["board_top/core/word_fifo"].use.bram18 == 5


def test_of_a_whole_design():
    report = read_utilization(REPORTS / "flat.rpt")
    assert report.instances == ()
    assert report.total == Resources(
        lut=9000, lutram=20, ff=15000, carry=700, dsp=512, bram18=5, uram=66
    )


def changed(tmp_path, name, old, new):
    text = (REPORTS / name).read_text()
    assert old in text
    path = tmp_path / name
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("hierarchical.rpt", "  9000 |", "  nine |", "line 26: 'nine' is no amount"),
        (
            "hierarchical.rpt",
            "9000 |      16 |",
            "9000 |",
            "line 26: 10 columns where there are 11",
        ),
        ("hierarchical.rpt", "Total LUTs", "All LUTs", "is no utilization report"),
        ("flat.rpt", "LUT as Logic             |  9000", "LUT as Logic |     ", "line 16: ''"),
        ("flat.rpt", "CLB Registers", "Registers", "is no utilization report"),
    ],
)
def test_malformed_reports_are_reported(tmp_path, name, old, new, words):
    with pytest.raises(UserError) as error:
        read_utilization(changed(tmp_path, name, old, new))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_another_kind_of_file(tmp_path):
    (tmp_path / "x").write_bytes(bytes(range(256)))
    for path in (REPORTS / "timing.rpt", tmp_path / "x"):
        with pytest.raises(UserError, match="is no utilization report"):
            read_utilization(path)
