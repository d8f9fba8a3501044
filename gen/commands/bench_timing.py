"""Judges for ``make bench`` whether every design, in its card's top, is fit for its clock."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gen.designs.catalogue import designs
from gen.synth.limits import MOST_CHAINS, MOST_FAN_OUT, MOST_LEVELS
from sim.bench.limits import Limit, Row
from sim.bench.synth import synth


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Estimate every design that has a top for a card, at the card's preset."""
    found = []
    with tempfile.TemporaryDirectory(prefix="ingather-bench-") as folder:
        for name, design in designs().items():
            for card in design.cards:
                progress(f"estimating {name} on {card}")
                _, figures = synth(name, card=card, cache=Path(folder))
                found += judged(f"{name} on {card}", figures)
    return found


def judged(name: str, figures: dict[str, Any]) -> list[Row]:
    """Return the rows of a design, from the ``figures`` that ``synth --card`` gives."""
    depth = figures["depth"]
    nets = [net | {"module": m["name"]} for m in figures["modules"] for net in m["crowded"]]
    worst = max(nets, key=lambda net: net["loads"], default=None)
    where = f"{worst['driver']} of {worst['module']}" if worst else ""
    return [
        Row(
            what=f"{name}: levels on any path",
            value=depth["most_levels"],
            limit=Limit(MOST_LEVELS),
            note=f"worst path of {depth['module']}: {depth['start']} to {depth['end']}",
        ),
        Row(
            what=f"{name}: carry chains on any path",
            value=depth["most_chains"],
            limit=Limit(MOST_CHAINS),
        ),
        Row(
            what=f"{name}: wires of more than {MOST_FAN_OUT:,} loads without a flip-flop",
            value=len(nets),
            limit=Limit(0),
            note=where,
        ),
        Row(
            what=f"{name}: wires between dies without registers",
            value=len(figures["crossings"]),
            limit=Limit(0),
            note="; ".join(figures["crossings"]),
        ),
    ]
