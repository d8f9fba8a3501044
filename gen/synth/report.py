"""Shows an estimate as tables in a terminal."""

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.table import Table

from gen.synth.depth import Depth
from gen.synth.device import LIMITED, TITLES, Device, crowded, fits
from gen.synth.paper import Comparisons
from gen.synth.resources import KINDS, Resources
from gen.synth.synthesis import Synthesis

WIDTH = 150  #: characters, where the output is no terminal that has a width of its own


def report(
    synthesis: Synthesis,
    device: Device,
    comparisons: Comparisons | None,
    placed: Iterable[str] = (),
) -> RenderableType:
    """Return the tables of modules, device and paper, and what is amiss, ``placed`` included."""
    parts: list[RenderableType] = [modules_table(synthesis), device_table(synthesis.total, device)]
    parts.append(clocks_table(synthesis))
    if comparisons is not None:
        parts.append(paper_table(comparisons))
    return Group(*parts, *remarks(synthesis, device), *placed)


def modules_table(synthesis: Synthesis) -> Table:
    """Return a table of what each module takes without children, one and all of its kind."""
    table = new_table("Estimate by module, without what it places", "module", "x")
    for title in KINDS.values():
        table.add_column(title, justify="right")
    for title in ("x: LUTs", "x: FF", "depth"):
        table.add_column(title, justify="right")
    for module in synthesis.modules.values():
        of_all = module.count * module.own
        figures = (amount(module.own, field) for field in KINDS)
        table.add_row(
            module.name,
            f"{module.count:,}",
            *figures,
            f"{of_all.luts:,}",
            f"{of_all.ff:,}",
            depth_text(module.depth),
        )
    table.add_section()
    total = synthesis.total
    figures = (amount(total, field) for field in KINDS)
    deepest = depth_text(synthesis.deepest.depth)
    table.add_row("total", "", *figures, f"{total.luts:,}", f"{total.ff:,}", deepest)
    return table


def depth_text(depth: Depth) -> str:
    """Write a depth as ``5+1 (38)``: LUT levels, carry chains, bits of the longest chain."""
    if not depth.end:
        return "-"
    return f"{depth.levels}+{depth.chains}" + (f" ({depth.carry})" if depth.chains else "")


def device_table(total: Resources, device: Device) -> Table:
    """Return a table of what the design needs of each kind and what the shell leaves."""
    table = new_table(f"Against {device.name} with the shell's use taken off", "where")
    for kind in LIMITED:
        table.add_column(f"{TITLES[kind]} free", justify="right")
        table.add_column("%", justify="right")
    places = [(slr.name, slr.free) for slr in device.slrs]
    whole = {kind: sum(free[kind] for _, free in places) for kind in LIMITED}
    for name, free in ((device.name, whole), *places):
        cells = []
        for kind in LIMITED:
            share = 100 * getattr(total, kind) / free[kind] if free[kind] else 0.0
            cells += [f"{free[kind]:,}", f"{share:.1f}"]
        table.add_row(name, *cells)
    return table


def clocks_table(synthesis: Synthesis) -> Table:
    """Return a table of what each clock allows, and of its worst path."""
    table = new_table("Paths by clock; levels of loads count", "clock")
    for title in ("MHz", "period, ns", "levels allowed", "levels"):
        table.add_column(title, justify="right")
    table.add_column("worst path")
    for clock in synthesis.clocks:
        levels = f"{clock.depth.most_levels}" if clock.module else "-"
        limits = (f"{clock.mhz:g}", f"{clock.period:.3f}", f"{clock.most_levels}")
        table.add_row(clock.name, *limits, levels, clock.path)
    return table


def paper_table(comparisons: Comparisons) -> Table:
    """Make a table of the paper's columns and of the estimated ones beside them."""
    table = new_table(comparisons.title, "part")
    columns = {
        owner: list(dict.fromkeys(key for row in comparisons.rows for key in getattr(row, owner)))
        for owner in ("paper", "own")
    }
    for owner, titles in columns.items():
        for title in titles:
            table.add_column(f"{owner}: {title}", justify="right")
    for row in comparisons.rows:
        figures = (getattr(row, owner).get(key) for owner, keys in columns.items() for key in keys)
        table.add_row(row.part, *("-" if f is None else f"{f:,g}" for f in figures))
    return table


def remarks(synthesis: Synthesis, device: Device) -> Iterable[str]:
    """Yield lines on the worst path, and on what the reader must not miss."""
    deepest = synthesis.deepest
    depth = deepest.depth
    if depth.end:
        yield (
            f"deepest: {deepest.name}, {depth.levels} LUT levels and {depth.chains} carry chains"
            f" (longest {depth.carry} bits), from {depth.start} to {depth.end}"
        )
        most = synthesis.depth
        yield (
            f"most on any path: {most.most_levels} LUT levels, {most.most_chains} carry chains,"
            f" a chain of {most.most_carry} bits"
        )
    if (net := synthesis.widest_reset.reset).resets:
        name = synthesis.widest_reset.name
        yield f"most registers that a wire resets: {net.resets:,}, by {net.driver} of {name}"
    slow = list(synthesis.too_slow())
    yield from (f"too slow: {line}" for line in slow)
    if not slow:
        yield "keeps the limits of levels, carry chains and fan-out"
    for module in synthesis.modules.values():
        if module.depth.rings:
            yield f"{module.name}: {module.depth.rings} arcs close combinational rings, left out"
        if module.unknown:
            kinds = ", ".join(f"{count} {kind}" for kind, count in module.unknown.items())
            yield f"{module.name}: not counted, since not known: {kinds}"
    for module, memory in synthesis.strayed:
        yield (
            f"not mapped as intended: {module.name}.{memory.name}, {memory.depth} x"
            f" {memory.bits}, asked for {memory.style}, became {memory.became}"
        )
    lines = fits(synthesis.total, device)
    yield from lines or [f"fits {device.name} with the shell"]
    yield from crowded(synthesis.total, device)


def new_table(title: str, *names: str) -> Table:
    """Make an empty table with columns of names, which are never cut."""
    table = Table(title=title, title_justify="left", title_style="bold", expand=False)
    for name in names:
        table.add_column(name, justify="left" if name != "x" else "right", overflow="fold")
    return table


def amount(resources: Resources, field: str) -> str:
    """Return an amount as text; empty for 0, so that other figures stand out."""
    return f"{getattr(resources, field):,}" if getattr(resources, field) else ""


def console() -> Console:
    """Return a console that is wide enough for the tables if it is a file or a pipe."""
    built = Console(highlight=False, markup=False)
    return built if built.is_terminal else Console(highlight=False, markup=False, width=WIDTH)
