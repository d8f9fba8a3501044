"""Shows coverage on a page: what each component's tests tried and missed, and what is left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen.page.page import Section, environment

TEMPLATES = environment(Path(__file__).parent)
KINDS = ("line", "toggle")


@dataclass(frozen=True, kw_only=True)
class Share:
    """Counts how much of a component was hit."""

    hit: int
    total: int
    excluded: int
    required: float  #: percent

    @property
    def percent(self) -> float:
        """Return the per cent of points that were hit; 100 if none counts."""
        return 100 * self.hit / self.total if self.total else 100.0

    @property
    def short(self) -> bool:
        """Return whether the share is below its threshold."""
        return 100 * self.hit < self.required * self.total


def sections(measured: Mapping[str, Any]) -> list[Section]:
    """Make the sections of a page for the content of a coverage.json."""
    rows = [row(component, measured["thresholds"]) for component in measured["components"]]
    totals = {kind: total(measured, kind) for kind in KINDS}
    provided = {"rows": rows, "totals": totals, "measured": measured}
    pages = [("Coverage", "coverage.html.j2"), ("Coverage exclusions", "exclusions.html.j2")]
    return [Section(title, TEMPLATES.get_template(file).render(provided)) for title, file in pages]


def row(component: Mapping[str, Any], thresholds: Mapping[str, float]) -> dict[str, Any]:
    """Return a component as its line of the table needs it."""
    bins = component["bins"]
    return {
        "name": component["component"],
        "modules": component["modules"],
        "shares": {kind: Share(**component[kind], required=thresholds[kind]) for kind in KINDS},
        "bins": len(bins),
        "bins_hit": sum(entry["hits"] > 0 for entry in bins),
        "bins_missed": [entry for entry in bins if not entry["hits"]],
        "missed": component["missed"],
        "missed_count": sum(component[kind]["total"] - component[kind]["hit"] for kind in KINDS),
    }


def total(measured: Mapping[str, Any], kind: str) -> Share:
    """Add up the shares of all components."""
    parts = [component[kind] for component in measured["components"]]
    sums = {name: sum(part[name] for part in parts) for name in ("hit", "total", "excluded")}
    return Share(**sums, required=measured["thresholds"][kind])
