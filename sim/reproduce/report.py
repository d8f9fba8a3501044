"""Writes the page that shows a paper's reproduced figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim.reproduce.figure import Claim, Figure, Source

REPORT = "report.md"

Progress = Callable[[str, int, int], None]  #: takes what is going on, steps done and steps in all


@dataclass(frozen=True, kw_only=True)
class Report:
    """Holds the result of a paper's reproduction."""

    title: str
    method: str  #: how all figures were made, as Markdown
    figures: Sequence[Figure]

    def write(self, folder: Path, made: str = "") -> list[str]:
        """Write tables, pictures and the page, with ``made`` on its top; return their names."""
        files = [file for figure in self.figures for file in figure.write(folder)]
        (folder / REPORT).write_text(self.page(made))
        return [REPORT, *files]

    def page(self, made: str = "") -> str:
        """Return the page as Markdown: a line for each figure, then each figure in full.

        ``made`` says what made the page, and when.
        """
        lines = [
            f"# {self.title}: the paper's figures, reproduced",
            "",
            *([f"*{made}*", ""] if made else []),
            self.method,
            "",
            "| figure | of the paper | statements that hold |",
            "| --- | --- | --- |",
        ]
        for figure in self.figures:
            anchor = f"[{figure.title}](#{slug(figure.title)})"
            lines.append(f"| {anchor} | {figure.source} | {holding(figure.claims)} |")
        return "\n".join([*lines, "", *(figure.text() for figure in self.figures)])


def holding(claims: Sequence[Claim]) -> str:
    """Return how many of the statements of each source hold, in words."""
    by = {source: [each.holds for each in claims if each.source is source] for source in Source}
    return ", ".join(f"{each}: {sum(holds)} of {len(holds)}" for each, holds in by.items() if holds)


def slug(title: str) -> str:
    """Return the anchor that Markdown gives a heading."""
    kept = (letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return "".join(kept).replace(" ", "-")
