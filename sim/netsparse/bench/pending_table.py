"""Estimates what a Pending PR Table takes, beside one whose entries were all compared at once."""

from collections.abc import Callable
from typing import Any

from sim.bench.limits import Limit, Row
from sim.bench.synth import synth

#: What a table of 64 compared entries took.
ENTRIES_BEFORE, LUT_BEFORE, FF_BEFORE = 64, 2_000, 2_435
MAX_LUT, MAX_FF = Limit(2_100), Limit(FF_BEFORE)


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Estimate the card's SNIC; what has been estimated before is found in the cache."""
    progress("estimating a SNIC")
    return held(synth("netsparse-snic")[1])


def held(figures: dict[str, Any]) -> list[Row]:
    """Hold the table of a unit to what the table of fewer entries took."""
    (table,) = (m for m in figures["modules"] if m["component"] == "PendingTable")
    total, entries = table["inclusive"], figures["parameters"]["rig"]["pending_entries"]
    before = f"with {ENTRIES_BEFORE} compared entries"
    return [
        Row(
            what="entries of a unit",
            value=entries,
            limit=Limit(256, at_least=True),
            note=f"{ENTRIES_BEFORE} before",
        ),
        Row(
            what="LUT of logic",
            value=total["lut"],
            limit=MAX_LUT,
            note=f"{LUT_BEFORE:,} {before}",
        ),
        Row(what="LUT of memory", value=total["lutram"]),
        Row(what="FF", value=total["ff"], limit=MAX_FF, note=f"{FF_BEFORE:,} {before}"),
    ]
