"""Estimates what a full switch takes of a card, and how deep its logic is."""

from collections.abc import Callable
from typing import Any

from sim.bench.limits import Limit, Row
from sim.bench.synth import synth

#: Limits of preset full, as the design allows them.
MOST = {"luts": Limit(120_000), "ff": Limit(220_000), "uram": Limit(560)}
MAX_LEVELS = Limit(8)
MAX_CHAINS = Limit(1)
MAX_CROWDED = Limit(0)


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Estimate preset full; what has been estimated before is found in the cache."""
    progress("estimating full")
    return held(synth("switchgnn-switch", preset="full")[1])


def held(figures: dict[str, Any]) -> list[Row]:
    """Hold the resources of an estimate, its longest paths and widest wires to what is granted."""
    total, modules = figures["total"], figures["modules"]
    worst = max(modules, key=lambda module: module["depth"]["most_levels"])
    chained = max(modules, key=lambda module: module["depth"]["most_chains"])
    crowded = [f"{net['driver']} of {m['name']}" for m in modules for net in m["crowded"]]
    return [
        *(Row(what=f"full: {kind}", value=total[kind], limit=most) for kind, most in MOST.items()),
        Row(
            what="full: LUTs on any path",
            value=worst["depth"]["most_levels"],
            limit=MAX_LEVELS,
            note=f"in {worst['component']}, from or to its children's registers too",
        ),
        Row(
            what="full: carry chains on any path",
            value=chained["depth"]["most_chains"],
            limit=MAX_CHAINS,
            note=f"in {chained['component']}",
        ),
        Row(
            what="full: wires of too many loads without a flip-flop",
            value=len(crowded),
            limit=MAX_CROWDED,
            note="; ".join(crowded),
        ),
    ]
