"""Compares Vivado's timing with the estimate, clock by clock."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from gen.synth.clock_timing import ClockTiming
from gen.synth.comparison import Comparison, comparison_table, slack_line
from gen.synth.evidence import Evidence
from gen.synth.report import new_table
from gen.synth.vivado_timing import VivadoClock, VivadoTiming


@dataclass(frozen=True, kw_only=True)
class ClockComparison:
    """Holds a clock as estimated, and as Vivado reports it; None where it has no path of it."""

    estimate: ClockTiming
    vivado: VivadoClock | None

    @property
    def differs(self) -> str:
        """Say in words on what the two disagree; empty if on nothing that decides."""
        if self.vivado is None or not self.estimate.path:
            known, unknown = (
                ("Vivado", "the estimate") if self.vivado else ("the estimate", "Vivado")
            )
            same = self.vivado is None and not self.estimate.path
            return "" if same else f"{known} has paths and {unknown} has none"
        met = self.vivado.wns >= 0
        if met == self.estimate.met:
            return ""
        return (
            f"the estimate has {self.estimate.depth.most_levels} levels of"
            f" {self.estimate.most_levels}, so that it should be {'missed' if met else 'met'};"
            f" Vivado has {self.vivado.wns:.3f} ns of slack"
        )

    def describe(self) -> dict[str, Any]:
        """Return the comparison as an object of JSON."""
        return {
            "name": self.estimate.name,
            "estimate": self.estimate.describe() | {"needs": self.estimate.needs},
            "vivado": asdict(self.vivado) if self.vivado else None,
            "differs": self.differs,
        }


def compare_clocks(
    clocks: Sequence[ClockTiming], timing: VivadoTiming, names: Mapping[str, str]
) -> list[ClockComparison]:
    """Compare each of the card's ``clocks``; ``names`` are Vivado's names of them."""
    return [
        ClockComparison(estimate=clock, vivado=timing.clocks.get(names.get(clock.name, clock.name)))
        for clock in clocks
    ]


def clocks_table(rows: Sequence[ClockComparison]) -> Table:
    """Return a table with a row for each clock: what the estimate says > what Vivado says."""
    table = new_table("Paths of each clock: estimate > Vivado", "clock")
    for title in ("MHz", "levels", "needs, ns", "slack, ns", "missed ends"):
        table.add_column(title, justify="right")
    table.add_column("worst paths", overflow="fold")
    for row in rows:
        clock, vivado = row.estimate, row.vivado
        path = vivado.path if vivado else None
        slack = vivado.wns if vivado else 0.0
        table.add_row(
            clock.name,
            f"{clock.mhz:g}",
            f"{clock.depth.most_levels if clock.path else '-'} > {path.levels if path else '-'}",
            f"{ns(clock.path, clock.needs)} > {ns(vivado, clock.period - slack)}",
            f"{ns(clock.path, clock.period - clock.needs)} > {ns(vivado, slack)}",
            f"{vivado.failing:,}" if vivado else "-",
            f"{clock.path or '-'} > " + (f"{path.source} to {path.destination}" if path else "-"),
        )
    return table


def ns(present: object, amount: float) -> str:
    """Write a time; a dash if what it is of is not ``present``."""
    return f"{amount:.3f}" if present else "-"


def differences(rows: Sequence[ClockComparison]) -> Iterator[str]:
    """Yield a line for each clock on which estimate and Vivado disagree, or one that none is."""
    lines = [f"{row.estimate.name}: {row.differs}" for row in rows if row.differs]
    yield from lines or ["estimate and Vivado agree on which clocks are met"]


def evidence_report(
    evidence: Evidence,
    modules: Sequence[Comparison],
    total: Comparison | None,
    clocks: Sequence[ClockComparison],
) -> RenderableType:
    """Return everything that a file of evidence has, for people."""
    parts: list[RenderableType] = []
    if modules or total:
        parts.append(comparison_table(modules, total))
    if clocks:
        parts.append(clocks_table(clocks))
    return Group(*parts, *remarks(evidence, clocks))


def remarks(evidence: Evidence, clocks: Sequence[ClockComparison]) -> Iterable[str]:
    """Yield lines on the build, on what is missing of it, and on what Vivado has found."""
    package = evidence.package
    yield (
        f"{package['design']}, preset {package['preset'] or '-'}, settings {package['settings']},"
        f" made by ingather {package['tools']['ingather']}, built by Vivado {evidence.vivado}"
    )
    if evidence.synthesis is None:
        yield "the package has no estimate: it was generated without"
    if evidence.timing is None:
        yield "there is no report of timing: the build ended before"
    else:
        yield slack_line(evidence.timing)
    if clocks:
        yield from differences(clocks)
    for title, lines in evidence.findings.items():
        yield f"{title}: {', '.join(' '.join(line.split()) for line in lines) or 'nothing'}"
