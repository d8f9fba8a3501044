"""Checks that names in Python use words of the field, not the project's own."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: Words that no name contains, names that nothing has, and names that stay in spite of such a word:
WORDS = re.compile(
    r"asked|askers?|asking|asks|found|gave|given|made|mine|ours|tells|telling|told|theirs|unasked"
    r"|unwanted|want|wanted|wants|way"
)
ALONE = re.compile(r"none|one|here|there|who|whose")
STAYS = re.compile(
    r".*Error|test_not_found|given"  # of Python, pytest and hypothesis
    r"|GaveUp|UNASKED|WRONG_WAY|(TAKEN_)?(ASKED|UNWANTED)|taken_unwanted"  # of registers and hosts
    r"|made_by|MADE_BY"  # of files
    r"|way|WAY|is_way|way_of|way_bits|way_by_the_rule|set_and_way|test_rows_of_a_way_.*|PendingWay(Params)?"
)


def names(path):
    for node in ast.walk(ast.parse(path.read_text())):
        for field in ("id", "attr", "arg", "name"):
            if isinstance(name := getattr(node, field, None), str):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", name


def is_foreign(name):
    rest = re.sub("under_way", "", name, flags=re.IGNORECASE)  # a counter, and what it counts
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", rest)
    foreign = any(WORDS.fullmatch(word.lower()) for word in parts)
    return ALONE.fullmatch(name) or (foreign and not STAYS.fullmatch(name))


@pytest.mark.parametrize("folder", ["gen", "hdl", "sim", "tests"])
def test_names_are_of_the_field(folder):
    every = [name for path in (ROOT / folder).rglob("*.py") for name in names(path)]
    assert not [f"{place}: {name}" for place, name in every if is_foreign(name)]
