"""Checks that every statement of every reproduced paper names whose it is."""

import ast
from pathlib import Path

import pytest

from gen.papers.catalogue import PAPERS
from sim.reproduce.figure import Claim

MAKERS = {"by_paper", "by_program", "by_us", "printed"}
ROOT = Path(__file__).parents[3]


def test_a_statement_without_a_source_is_refused():
    with pytest.raises(TypeError):
        Claim("it is faster", True, "2 times")  # pyright: ignore


@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
def test_every_statement_has_a_source(paper):
    """All are made by the functions of a source, or with a source that their caller gives."""
    folder = ROOT / Path(*paper.reproduce.partition(":")[0].split(".")).parent
    nodes = [node for path in folder.glob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    names = [getattr(node.func, "id", "") for node in calls]
    assert sum(name in MAKERS for name in names) >= 10
    assert {"by_paper", "by_us"} <= set(names)
    built = [node for node, name in zip(calls, names, strict=True) if name == "Claim"]
    assert {ast.unparse(node.args[0]) for node in built} <= {"source"}
