"""Checks that no page has a figure that a run gave: runs change, and pages do not follow."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.gen.test_readme import READMES, ROOT

CODE = re.compile(r"\{[%{].*?[%}]\}|```[^`]*```|`[^`]*`|\]\([^)]*\)|doi:\S+|Python 3\S+")
UNITS = (
    "%|[KM]? ?(?:LUTs?|FFs?|flip-flops)|DSPs?|UltraRAMs?|RAMB36|block RAMs|[GM]B/s|Gb/s|[num]?s"
    "|seconds?|minutes?|hours?|cycles|times|levels|states|PRs|packets|hits|grants|wires|loads"
)
#: a number with a unit, a large one that is no power of two, a fraction, or a time in words
FIGURE = re.compile(
    rf"(?<![\w.,/-])(?:(?:\d+(?:[.,]\d+)*|\.\d+) ?(?:{UNITS})|\d+(?:,\d{{3}})+|\d*\.\d\d+"
    r"|(?:half an?|few|two|three|five|ten) (?:seconds|minute|hour)s?)(?![\w.]\w|\w)"
)
PAGES = [*READMES, *ROOT.glob("gen/guides/*.j2"), *ROOT.glob("constraints/**/*.md.j2")]
HELD = tomllib.loads((ROOT / "tests/gen/measured.toml").read_text())
WORDS = {"paper", "setting", "computed"}


def figures(text):
    found = {one[0] for one in FIGURE.finditer(" ".join(CODE.sub("`", text).split()))}
    numbers = {one: one.replace(",", "") for one in found}
    return {one for one, n in numbers.items() if not n.isdigit() or int(n) & (int(n) - 1)}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_figures_of_a_page_are_held(page):
    """Each is chosen, computed or printed by the paper, or stands in a file that states it."""
    held = HELD.get(page.relative_to(ROOT).as_posix(), {})
    assert figures(page.read_text()) == {one for each in held.values() for one in each}
    for file in held.keys() - WORDS:
        stated = re.findall(r"\d+(?:\.\d+)?", Path(ROOT, file).read_text().replace("_", ""))
        for one in held[file]:
            number = float(re.match(r"[\d.]+", one.replace(",", ""))[0])
            assert {number, number / 100} & set(map(float, stated)), (file, one)


def test_measured_figures_are_found():
    assert figures("482 times, 9.0 K LUT, 1,347 PRs, at .965 in two minutes; 4,096 of `x 7 %`") == {
        *("482 times", "9.0 K LUT", "1,347 PRs", ".965", "two minutes")
    }
