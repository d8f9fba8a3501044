"""Lists the tables and figures of a paper, with what becomes of each in a reproduction."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sim.reproduce.figure import markdown

SIM = Path(__file__).parents[1]
ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4}


class Status(StrEnum):
    """Says what becomes of a table or figure."""

    REPRODUCED = "reproduced"
    FORMULA = "by formula"
    COMMAND = "by command"
    LEFT_OUT = "left out"


@dataclass(frozen=True)
class Item:
    """Describes a table or figure of a paper, or a section that has none."""

    number: str  #: as "figure 8"; "none" is in no paper
    status: Status
    about: str  #: what it shows
    how: str  #: from what it is made, or why it is not
    figure: str = ""  #: name of the figure here, as ``--only`` takes it; or another command


def items_of(paper: str) -> list[Item]:
    """Return a paper's tables and figures, as ``contents.toml`` beside their code has them."""
    read = tomllib.loads((SIM / paper / "reproduce" / "contents.toml").read_text())
    result = [
        Item(number, status, about, how, figure)
        for status in (Status.REPRODUCED, Status.FORMULA, Status.COMMAND)
        for number, (figure, about, how) in read.get(status.replace(" ", "_"), {}).items()
    ]
    for group in read["left_out"]:
        why = group.pop("why")
        result += [Item(number, Status.LEFT_OUT, about, why) for number, about in group.items()]
    return in_order(result)


def in_order(items: Sequence[Item]) -> list[Item]:
    """Return tables, then figures, by their numbers, then the rest."""

    def key(item: Item) -> tuple[int, int]:
        kind, _, number = item.number.partition(" ")
        digits = "".join(letter for letter in number if letter.isdigit())
        kinds = {"table": 0, "figure": 1}
        return kinds.get(kind, 2), int(digits or ROMAN.get(number, 99))

    return sorted(items, key=key)


def table(items: Sequence[Item]) -> list[str]:
    """Return the lines of a table of all items, in the order of the paper."""
    rows = [
        {
            "of the paper": item.number,
            "what it shows": item.about,
            "here": f"{item.status.value}: `{item.figure}`" if item.figure else item.status.value,
            "from what, or why not": item.how,
        }
        for item in items
    ]
    return markdown(rows)


def page(paper: str) -> str:
    """Return the page of a paper's tables and figures."""
    lines = [
        "# Tables and figures of the paper",
        "",
        f"`ingather reproduce {paper} -o DIR` makes what is reproduced here, `--only NAME` one of",
        "the names below. What is measured stands in its report alone, which has this table, too.",
        "",
        *table(items_of(paper)),
    ]
    return "\n".join(lines)
