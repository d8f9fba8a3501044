"""Describes a reproduced figure of a paper: numbers, a picture, and the paper's statements."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Picture

Rows = Sequence[Mapping[str, Any]]


class Source(StrEnum):
    """Names who makes a statement."""

    PAPER = "paper"
    PROGRAM = "authors' program"  #: what the paper's authors publish beside it
    OWN = "ours"


@dataclass(frozen=True)
class Claim:
    """Holds a statement beside what was measured."""

    source: Source
    text: str
    holds: bool
    result: str  #: the measured numbers, in words

    @property
    def verdict(self) -> str:
        """Return the verdict in a word."""
        return "yes" if self.holds else "NO"


#: Each makes a statement of its source from the text, whether it holds, and what was measured.
by_paper, by_program, by_us = (partial(Claim, source) for source in Source)


def printed(what: str, papers: float, result: Any) -> Claim:
    """Return the statement that a number is the paper's; ours may differ by 5 % of it."""
    holds = round(abs(result / papers - 1), 4) <= 0.05
    return by_paper(f"{what}: {papers}, within 5 %", bool(holds), f"{result:.4g}")


@dataclass(frozen=True)
class Panel:
    """Describes one diagram of a picture."""

    title: str
    draw: Callable[[Axes], None]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Holds the result of reproducing a figure."""

    name: str  #: name of its files, and of ``--only``
    title: str
    source: str  #: figure and section of the paper
    quote: str  #: the paper's own words
    setting: str  #: hardware, data and network that were simulated
    rows: Rows  #: the table; all have the same keys
    panels: Sequence[Panel]
    claims: Sequence[Claim]
    shown: Rows = ()  #: the part of the table that the page shows, written out
    note: str = ""  #: remarks for the reader

    def write(self, folder: Path) -> list[str]:
        """Write the table and the picture; return their names."""
        table, picture = f"{self.name}.csv", f"{self.name}.png"
        with open(folder / table, "w", newline="") as file:
            writer = csv.DictWriter(file, list(self.rows[0]))
            writer.writeheader()
            writer.writerows(self.rows)
        self.draw(folder / picture)
        return [table, picture]

    def draw(self, path: Path) -> None:
        """Draw all panels side by side."""
        built = Picture(figsize=(5.2 * len(self.panels), 4.0))
        FigureCanvasAgg(built)
        for axes, panel in zip(
            built.subplots(1, len(self.panels), squeeze=False)[0], self.panels, strict=True
        ):
            panel.draw(axes)
            axes.set_title(panel.title, fontsize=10)
            axes.grid(alpha=0.3)
            axes.legend(fontsize=8)
        built.tight_layout()
        built.savefig(path, dpi=110)

    def text(self) -> str:
        """Return the figure's part of the report, as Markdown."""
        claims = ["| statement | whose | here | holds |", "| --- | --- | --- | --- |"]
        claims += [
            f"| {claim.text} | {claim.source} | {claim.result} | {claim.verdict} |"
            for claim in self.claims
        ]
        return "\n".join(
            [
                f"## {self.title}",
                "",
                f"> {self.quote} ({self.source})",
                "",
                self.setting,
                "",
                *([*claims, ""] if self.claims else []),
                *(markdown(self.shown) if self.shown else []),
                f"![{self.title}]({self.name}.png)",
                "",
                f"Numbers: [{self.name}.csv]({self.name}.csv)",
                *(["", self.note] if self.note else []),
                "",
            ]
        )


def markdown(rows: Rows) -> list[str]:
    """Return rows as the lines of a Markdown table, followed by an empty line."""
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", f"| {' | '.join('---' for _ in names)} |"]
    lines += [f"| {' | '.join(str(row[name]) for name in names)} |" for row in rows]
    return [*lines, ""]


def written(rows: Rows, columns: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the lines of a table of the page: each of ``columns`` is filled in from a row."""
    return [{name: text.format(**row) for name, text in columns.items()} for row in rows]


def rows_with(rows: Rows, **values: Any) -> list[Mapping[str, Any]]:
    """Return the rows that have these values, by the names of their columns."""
    return [row for row in rows if values.items() <= row.items()]


def curve(axes: Axes, rows: Rows, x: str, y: str, style: str = "o-", **options: Any) -> None:
    """Draw the column ``y`` of rows over the column ``x``; ``options`` are Matplotlib's."""
    axes.plot([row[x] for row in rows], [row[y] for row in rows], style, **options)


def doubling(axes: Axes, values: Sequence[int], label: str) -> None:
    """Draw an axis of powers of two, with their numbers written out."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(values), [str(value) for value in values])
    axes.set_xlabel(label)
