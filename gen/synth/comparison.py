"""Compares Vivado's figures with the estimate, module by module, and prints both."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from gen.synth.depth import Depth
from gen.synth.report import new_table
from gen.synth.resources import KINDS, Resources
from gen.synth.synthesis import Synthesis
from gen.synth.vivado import Placed, Utilization
from gen.synth.vivado_timing import VivadoTiming

#: kinds that both know, with their titles: Vivado's tables by hierarchy have no carry chains
COMPARED = {kind: title for kind, title in KINDS.items() if kind != "carry"}
#: matches what Vivado puts behind the name of a module that it makes distinct
DISTINCT = re.compile(r"(_+\d+|__parameterized\d+|__xdcDup__\d+|_HD\d+)+")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Holds a module, with everything below it, as estimated and as Vivado found it."""

    module: str
    count: int  #: number of instances in the estimate
    listed: int  #: number of instances that Vivado lists
    estimate: Resources
    vivado: Resources  #: mean of its instances

    @property
    def ratios(self) -> dict[str, float | None]:
        """Divide Vivado's amounts by the estimated ones; None where the estimate is 0."""
        return {
            field: round(getattr(self.vivado, field) / own, 3) if own else None
            for field in COMPARED
            for own in (getattr(self.estimate, field),)
        }

    def describe(self) -> dict[str, Any]:
        """Return the comparison as an object of JSON."""
        return asdict(self) | {"ratios": self.ratios}


def module_of(name: str, known: Sequence[str]) -> str | None:
    """Return the longest known module name that Vivado's ``name`` begins with."""
    if name in known:
        return name
    begins = [k for k in known if name.startswith(k) and DISTINCT.fullmatch(name[len(k) :])]
    return max(begins, key=len, default=None)


def compare(synthesis: Synthesis, instances: Sequence[Placed]) -> list[Comparison]:
    """Compare each module that Vivado kept; it does not list those that it dissolved."""
    names = list(synthesis.modules)
    result: dict[str, list[Resources]] = {}
    for placed in instances:
        # Of the top Vivado tells the name where instances stand.
        listed = placed.path if placed.module == "(top)" else placed.module
        name = module_of(listed, names)
        if name is not None:
            result.setdefault(name, []).append(placed.use)
    return [
        Comparison(
            module=name,
            count=synthesis.modules[name].count,
            listed=len(result[name]),
            estimate=synthesis.inclusive(name),
            vivado=mean(result[name]),
        )
        for name in names
        if name in result
    ]


def mean(uses: Sequence[Resources]) -> Resources:
    """Return the mean of resources, each amount rounded to a whole number."""
    total = sum(uses, Resources())
    return Resources(**{kind: round(n / len(uses)) for kind, n in asdict(total).items()})


def compare_totals(
    synthesis: Synthesis, modules: Sequence[Comparison], reports: Sequence[Utilization]
) -> Comparison | None:
    """Compare the whole design: the instance of its top, or else a report of totals."""
    top = synthesis.top.name
    for row in modules:
        if row.module == top:
            return row
    for report in reports:
        if report.total is not None:
            return Comparison(
                module=top, count=1, listed=1, estimate=synthesis.total, vivado=report.total
            )
    return None


def describe(
    modules: Sequence[Comparison], total: Comparison | None, timing: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return all comparisons as an object of JSON."""
    return {
        "modules": [row.describe() for row in modules],
        "total": total.describe() if total else None,
        "timing": timing,
    }


def comparison_report(
    modules: Sequence[Comparison],
    total: Comparison | None,
    depth: Depth,
    timing: VivadoTiming | None,
) -> RenderableType:
    """Make a table with a row per module and a total, and the lines on timing below it."""
    return Group(comparison_table(modules, total), *timing_lines(depth, timing))


def comparison_table(modules: Sequence[Comparison], total: Comparison | None) -> Table:
    """Return a table with a row per module and a total."""
    table = new_table("One of each module with all below it: estimate > Vivado (ratio)", "module")
    for title in ("x", "found", *COMPARED.values()):
        table.add_column(title, justify="right")
    for row in modules:
        table.add_row(row.module, f"{row.count:,}", f"{row.listed:,}", *cells(row))
    if total is not None:
        table.add_section()
        table.add_row("total", "", "", *cells(total))
    return table


def cells(row: Comparison) -> Iterable[str]:
    """Show an estimated amount, the found one and their ratio: ``12,000 > 9,000 (0.75)``."""
    for field in COMPARED:
        estimate, vivado = getattr(row.estimate, field), getattr(row.vivado, field)
        ratio = row.ratios[field]
        text = f"{estimate:,} > {vivado:,}" + (f" ({ratio:.2f})" if ratio is not None else "")
        yield text if estimate or vivado else ""


def slack_line(timing: VivadoTiming) -> str:
    """Say how much slack Vivado reports."""
    met = "met" if timing.wns >= 0 else "missed"
    return f"timing {met}: WNS {timing.wns:.3f} ns, TNS {timing.tns:.3f} ns"


def timing_lines(depth: Depth, timing: VivadoTiming | None) -> Iterable[str]:
    """Say in lines how much slack there is, and which path is the worst of both reports."""
    if timing is None:
        return
    yield slack_line(timing)
    if (path := timing.path) is not None:
        yield (
            f"Vivado's worst path: {path.levels} logic levels ({path.cells}), from"
            f" {path.source} to {path.destination}"
        )
    yield (
        f"estimate's worst path: {depth.levels} LUT levels and {depth.chains} carry chains, from"
        f" {depth.start} to {depth.end}"
    )
