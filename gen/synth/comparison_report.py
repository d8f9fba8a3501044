"""Prints Vivado's figures beside the estimate, as people read them."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType

from gen.synth.comparison import COMPARED, Comparison
from gen.synth.depth import Depth
from gen.synth.report import new_table
from gen.synth.vivado_timing import VivadoTiming


def comparison_report(
    modules: Sequence[Comparison],
    total: Comparison | None,
    depth: Depth,
    timing: VivadoTiming | None,
) -> RenderableType:
    """Make a table with a row per module and a total, and the lines on timing below it."""
    table = new_table("One of each module with all below it: estimate > Vivado (ratio)", "module")
    for title in ("x", "found", *COMPARED.values()):
        table.add_column(title, justify="right")
    for row in modules:
        table.add_row(row.module, f"{row.count:,}", f"{row.found:,}", *cells(row))
    if total is not None:
        table.add_section()
        table.add_row("total", "", "", *cells(total))
    return Group(table, *timing_lines(depth, timing))


def cells(row: Comparison) -> Iterable[str]:
    """Show an estimated amount, the found one and their ratio: ``12,000 > 9,000 (0.75)``."""
    for field in COMPARED:
        ours, theirs = getattr(row.estimate, field), getattr(row.vivado, field)
        ratio = row.ratios[field]
        text = f"{ours:,} > {theirs:,}" + (f" ({ratio:.2f})" if ratio is not None else "")
        yield text if ours or theirs else ""


def timing_lines(depth: Depth, timing: VivadoTiming | None) -> Iterable[str]:
    """Say in lines how much slack there is, and which path is the worst of both reports."""
    if timing is None:
        return
    met = "met" if timing.wns >= 0 else "missed"
    yield f"timing {met}: WNS {timing.wns:.3f} ns, TNS {timing.tns:.3f} ns"
    if timing.levels is not None:
        yield (
            f"Vivado's worst path: {timing.levels} logic levels ({timing.cells}), from"
            f" {timing.source} to {timing.destination}"
        )
    yield (
        f"estimate's worst path: {depth.levels} LUT levels and {depth.chains} carry chains, from"
        f" {depth.start} to {depth.end}"
    )
