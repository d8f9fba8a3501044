"""Shows a regression on a page of its own, and as sections of others, from verify.json alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gen.page.page import Section, environment, render
from gen.verify import coverage

TEMPLATES = environment(Path(__file__).parent)
GOOD = ("passed", "skipped")


def page(regression: Mapping[str, Any], measured: Mapping[str, Any] | None) -> str:
    """Return index.html for the contents of verify.json and, if there is one, coverage.json."""
    parts = sections(regression)
    return render("Regression", [*parts, *(coverage.sections(measured) if measured else [])])


def sections(regression: Mapping[str, Any]) -> list[Section]:
    """Return the sections: summary, failures if there are any, and a table of all tests."""
    items: Sequence[Mapping[str, Any]] = regression["items"]
    bad = [item for item in items if item["outcome"] not in GOOD]
    summary = filled("regression", regression=regression, tiles=tiles(regression))
    parts = [Section("Regression", summary)]
    if bad:
        parts.append(Section("Failures", filled("failures", items=bad)))
    tests: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        tests.setdefault(item["test"], []).append(item)
    rows = [row(test, members) for test, members in tests.items()]
    return [*parts, Section("Tests", filled("items", rows=rows))]


def filled(template: str, **content: Any) -> str:
    """Return a template of this folder with its content filled in."""
    return TEMPLATES.get_template(f"{template}.html.j2").render(content)


def tiles(regression: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the figure, name and style of each tile."""
    items, runs = regression["items"], runs_of(regression["items"])
    outcomes = Counter(item["outcome"] for item in items)
    created = [
        (f"{count:,}", outcome, "good" if outcome in GOOD else "bad")
        for outcome, count in outcomes.items()
    ]
    built = sum(run["built"] for run in runs)
    return [
        *created,
        (f"{sum(run['cycles'] for run in runs):,}", "cycles simulated", ""),
        (f"{len(runs):,}", f"simulations, {built:,} built", ""),
        (f"{regression['simulation_seconds']:,.0f} s", "in simulators", ""),
        (f"{regression['seconds']:,.0f} s", "in all", ""),
    ]


def runs_of(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the simulator runs of all items."""
    return [run for item in items for run in item["runs"]]


def row(test: str, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the table's row of a test on all of its seeds."""
    runs = runs_of(items)
    outcomes = list(dict.fromkeys(item["outcome"] for item in items))
    simulation = sum(run["seconds"] for run in runs)
    cycles = sum(run["cycles"] for run in runs)
    built = {run["built"] for run in runs}
    return {
        "test": test,
        "outcome": ", ".join(outcomes),
        "bad": [item["seed"] for item in items if item["outcome"] not in GOOD],
        "seeds": len(items),
        "cases": sum(len(run["cases"]) for run in runs),
        "cycles": cycles,
        "rate": cycles / simulation if simulation else None,
        "simulator": {1: "built" if True in built else "cached", 2: "some built"}.get(
            len(built), ""
        ),
        "build": sum(run["build_seconds"] for run in runs),
        "simulation": simulation,
        "seconds": sum(item["seconds"] for item in items),
    }
