"""Writes the table of routed components."""

from collections.abc import Mapping

from rich.table import Table

from gen.route.routing import DEVICE, Routed
from gen.synth.report import new_table

COLUMNS = ("LUT4", "FF", "RAM blocks", "multipliers", "MHz", "UltraScale+: levels + carry chains")


def report(results: Mapping[str, Routed]) -> Table:
    """Return a table of the components by their names; a clock is named where there are several."""
    table = new_table(f"Placed and routed alone on an {DEVICE}", "component", "module")
    for title in COLUMNS:
        table.add_column(title, justify="right")
    table.add_column("slowest path")
    for name, item in results.items():
        counts = (f"{count:,}" for count in (item.luts, item.ffs, item.rams, item.dsps))
        table.add_row(
            name, item.module, *counts, speeds(item), f"{item.levels} + {item.chains}", item.path
        )
    return table


def speeds(result: Routed) -> str:
    """Return the frequency of each clock in words."""
    if len(result.mhz) == 1:
        return f"{min(result.mhz.values()):.0f}"
    return ", ".join(f"{clock} {mhz:.0f}" for clock, mhz in result.mhz.items())
