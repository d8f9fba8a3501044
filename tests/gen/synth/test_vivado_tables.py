from pathlib import Path

import pytest

from gen.base.errors import UserError
from gen.synth.vivado_tables import amount, read_report, tables_of

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


def test_no_amount_is_told_with_its_line():
    with pytest.raises(UserError, match=r"^r\.rpt, line 7: 'many' is no amount$"):
        amount(" many ", Path("r.rpt"), 7)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="cannot read"):
        read_report(tmp_path / "none.rpt")
    with pytest.raises(UserError, match="cannot read"):
        read_report(tmp_path)
