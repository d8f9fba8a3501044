"""Makes the one page of all results: a summary, then a part for each sweep and kind of result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from markupsafe import Markup

from gen.base.errors import UserError
from gen.designs.catalogue import commands
from gen.designs.design import load
from gen.page.page import Section, environment, render
from gen.report.regression_section import regression_sections
from gen.report.resources_section import resources_section
from gen.report.run_section import run_section
from gen.report.sources import Findings
from gen.report.sweep import Sweep, sweep_section
from hdl.common.core_clock import CORE_MHZ

HERE = Path(__file__).parent
TITLE = "Ingather: results"
KINDS = ("regression", "estimate")  #: kinds of results that are no runs

#: errors that a result raises whose content is not what its kind has
DAMAGE = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    TemplateError,
    ArithmeticError,
)

Results = Sequence[tuple[str, Mapping[str, Any]]]  #: label and content
Together = Callable[[Results], Section]  #: makes one part of the report of several results


@dataclass
class Parts:
    """Collects the sections made so far, the results in them, and what had to be left out."""

    sections: list[Section] = field(default_factory=list)
    sweeps: list[Sweep] = field(default_factory=list)
    results: dict[str, Results] = field(default_factory=dict)  #: all results, by their kind
    left_out: list[str] = field(default_factory=list)

    def built(self, label: str, make: Callable[[], Sequence[Section]]) -> Sequence[Section]:
        """Return the sections that ``make`` gives; none, and a note, if the file is damaged."""
        try:
            return make()
        except DAMAGE as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            self.left_out.append(f"{label} is damaged, or of another version: {what}")
            return ()

    def add_sweep(self, sweep: Sweep) -> None:
        """Add a section for one sweep."""
        if sections := self.built(sweep.label, lambda: [sweep_section(sweep)]):
            self.sections += sections
            self.sweeps.append(sweep)

    def add(self, kind: str, results: Results, section: Together) -> None:
        """Add one section for all ``results`` that are not damaged."""
        stored = [
            item for item in results if self.built(item[0], lambda item=item: [section([item])])
        ]
        self.results[kind] = stored
        if stored:
            self.sections.append(section(stored))

    def each(self, kind: str, name: str) -> list[bool | None]:
        """Return ``name`` of each result of ``kind``: true, false or unknown."""
        return [content[name] for _, content in self.results[kind]]

    def add_regressions(self, results: Results) -> None:
        """Add the sections of each regression that is not damaged."""
        self.results["regression"] = stored = []
        for label, content in results:
            built = self.built(label, lambda item=(label, content): regression_sections(*item))
            if built:
                self.sections += built
                stored.append((label, content))


def report(result: Findings) -> tuple[str, list[str]]:
    """Return the page, and a line for each file that is not in it.

    Equal files give equal text on the same day. Raises UserError if all files are damaged.
    """
    parts = Parts(left_out=list(result.left_out))
    for sweep in result.sweeps:
        parts.add_sweep(sweep)
    parts.add_regressions(result.of("regression"))
    parts.add("estimate", result.of("estimate"), resources_section)
    for command, runs in result.runs().items():
        parts.add(command, runs, section_of(command))
    if not parts.sections:
        raise UserError(parts.left_out[0])
    sections = [summary(parts), *parts.sections]
    page = render(TITLE, with_script(sections), plotly=True, clocks_mhz=clocks(parts))
    return page, parts.left_out


def clocks(parts: Parts) -> set[float]:
    """Return the clocks, in MHz, at which the page's figures are counted."""
    runs = [content for results in parts.results.values() for _, content in results]
    counted = [*(sweep.spec for sweep in parts.sweeps), *runs]
    return {float(content.get("clock_mhz", CORE_MHZ)) for content in counted}


def section_of(command: str) -> Together:
    """Return the function that makes the part of a command's runs."""
    known = commands()
    own = known[command][1].section if command in known else ""
    return load(own) if own else run_section


def summary(parts: Parts) -> Section:
    """Return the section that lists what there is, and how it went."""
    template = environment(HERE).get_template("summary.html.j2")
    return Section("Summary", template.render(tiles=tiles(parts), left_out=parts.left_out))


def tiles(parts: Parts) -> list[tuple[str, str, str]]:
    """Return the summary's tiles: a figure, what it counts, and whether it is good or bad."""
    points = [point for sweep in parts.sweeps for point in sweep.points]
    items = [item for _, content in parts.results["regression"] for item in content["items"]]
    ran = [item["outcome"] for item in items if item["outcome"] != "skipped"]
    counted = [
        ([point.status == "done" for point in points], "points of sweeps finished"),
        ([outcome == "passed" for outcome in ran], "items of regressions passed"),
        (parts.each("estimate", "fits"), "estimated designs fit"),
        *(
            (parts.each(command, "exact"), f"runs of {command} exact")
            for command in parts.results
            if command not in KINDS
        ),
    ]
    return [
        (
            f"{good.count(True):,} of {len(good):,}",
            text + f", {good.count(None):,} compared with nothing" * (None in good),
            "bad" if False in good else "warn" if None in good else "good",
        )
        for good, text in counted
        if good
    ]


def with_script(sections: Sequence[Section]) -> list[Section]:
    """Return the sections, with the script that draws their plots behind the last."""
    script = Markup("<script>\n{}</script>").format(
        Markup((HERE / "report.js").read_text(encoding="utf-8"))
    )
    return [*sections[:-1], Section(sections[-1].title, f"{sections[-1].html}\n{script}")]
