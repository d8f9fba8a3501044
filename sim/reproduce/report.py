"""Makes a paper's reproduced figures, and writes the page that shows them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.reproduce.contents import Item, table
from sim.reproduce.figure import Claim, Figure, Source

REPORT = "report.md"

Progress = Callable[[str, int, int], None]  #: takes what is going on, steps done and steps in all


@dataclass(frozen=True, kw_only=True)
class Report:
    """Holds the result of a paper's reproduction."""

    title: str
    method: str  #: how all figures were made, as Markdown
    figures: Sequence[Figure]
    contents: Sequence[Item] = ()  #: all tables and figures of the paper

    def write(self, folder: Path, built: str = "") -> list[str]:
        """Write tables, pictures and the page, with ``built`` on its top; return their names."""
        files = [file for figure in self.figures for file in figure.write(folder)]
        (folder / REPORT).write_text(self.page(built))
        return [REPORT, *files]

    def page(self, built: str = "") -> str:
        """Return the page as Markdown: a line for each figure, then each figure in full.

        ``built`` says what made the page, and when.
        """
        lines = [
            f"# {self.title}: the paper's figures, reproduced",
            "",
            *([f"*{built}*", ""] if built else []),
            self.method,
            "",
            "| figure | of the paper | statements that hold |",
            "| --- | --- | --- |",
        ]
        for figure in self.figures:
            anchor = f"[{figure.title}](#{slug(figure.title)})"
            lines.append(f"| {anchor} | {figure.source} | {holding(figure.claims)} |")
        if self.contents:
            lines += ["", "## All tables and figures of the paper", "", *table(self.contents)]
        return "\n".join([*lines, "", *(figure.text() for figure in self.figures)])


def holding(claims: Sequence[Claim]) -> str:
    """Return how many of the statements of each source hold, in words."""
    by = {source: [each.holds for each in claims if each.source is source] for source in Source}
    counted = (f"{each}: {sum(holds)} of {len(holds)}" for each, holds in by.items() if holds)
    return ", ".join(counted) or "none is judged"


def slug(title: str) -> str:
    """Return the anchor that Markdown gives a heading."""
    stored = (letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return "".join(stored).replace(" ", "-")


def figures_of(
    order: Sequence[str],
    names: Sequence[str],
    makers: Mapping[str, Callable[[], Figure]],
    progress: Progress,
) -> list[Figure]:
    """Make the figures of ``names``, in the paper's ``order``; each has a maker of its name."""
    chosen = [name for name in order if name in names]
    figures: list[Figure] = []
    for name in chosen:
        progress(f"making {name}", len(figures), len(chosen))
        figures.append(makers[name]())
    return figures


def points_of(
    names: Sequence[str], of_points: Mapping[str, tuple[Callable[..., Any], Any]], *provided: Any
) -> list[Any]:
    """Return the points that figures of ``names`` need, each once; ``provided`` is what decides
    them.

    ``of_points`` has, by the name of a figure, what returns its points and what makes it of them.
    """
    chosen = [of_points[name][0](*provided) for name in names if name in of_points]
    return list(dict.fromkeys(point for points in chosen for point in points))
