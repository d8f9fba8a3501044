"""Checks that each paper's table names every table and figure once, and all that is made."""

from pathlib import Path

import pytest

from gen.papers.catalogue import PAPERS
from sim.reproduce.contents import Item, Status, in_order, items_of, page, table

ROOT = Path(__file__).parents[3]
#: last table and last figure of each paper
LAST = {"gather": (4, 12), "mina": (1, 14), "netsparse": (9, 22), "p4sgd": (4, 15)}
LAST["switchgnn"] = (1, 19)
ROMAN = ("", "I", "II", "III", "IV")
EACH_PAPER = pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)


@EACH_PAPER
def test_every_figure_here_is_in_the_table_and_all_in_the_table_are_here(paper):
    items = items_of(paper.name)
    commands = {item.figure for item in items if item.status is Status.COMMAND}
    figures = {item.figure for item in items if item.figure}  # one may show two of the paper's
    assert sorted(figures - commands) == sorted(paper.figure_names)
    for item in items:
        assert bool(item.figure) is (item.status is not Status.LEFT_OUT)
        assert item.how
        assert item.about


@EACH_PAPER
def test_every_table_and_figure_of_the_paper_is_in_the_table(paper):
    numbers = [item.number for item in items_of(paper.name)]
    tables, figures = LAST[paper.name]
    for kind, last in (("table", tables), ("figure", figures)):
        for k in range(1, last + 1):
            own = [
                n
                for n in numbers
                if n.partition("(")[0] in (f"{kind} {k}", f"{kind} {ROMAN[k % 5]}")
            ]
            assert own, f"{kind} {k}"
            assert len(set(own)) == len(own)


@EACH_PAPER
def test_the_page_has_the_table(paper, request):
    path = ROOT / "sim" / paper.name / "reproduce/README.md"
    text = page(paper.name)
    if request.config.getoption("--update-lists"):
        path.write_text(text)
    assert path.read_text() == text, "if this change is meant: pytest --update-lists"


def test_tables_come_before_figures_and_both_by_number():
    names = ("none", "figure 10", "figure 2(d)", "table II", "section 5", "table I", "figure 9")
    items = in_order([Item(name, Status.REPRODUCED, "x", "z", "y") for name in names])
    assert [item.number for item in items] == [
        *("table I", "table II", "figure 2(d)", "figure 9", "figure 10", "section 5", "none")
    ]
    assert table(items)[2] == "| table I | x | reproduced: `y` | z |"
