"""Writes a regression as verify.json, for others to read."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sim.verify.items import Item
from sim.verify.regression import Options, Outcome

FORMAT = 1


def verify_json(
    options: Options, outcome: Outcome, started: datetime, seconds: float
) -> dict[str, Any]:
    """Return the content of verify.json: items by test, then by seed."""
    items: Sequence[Item] = outcome.items
    return {
        "format": FORMAT,
        "made_by": "ingather",
        "command": "verify",
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "jobs": options.jobs,
        "seeds": list(options.seeds),
        "targets": list(options.targets),
        "filter": options.keyword,
        "interrupted": outcome.interrupted,
        "simulation_seconds": round(sum(item.simulation_seconds for item in items), 3),
        "build_seconds": round(sum(item.build_seconds for item in items), 3),
        "items": [item.to_json() for item in sorted(items, key=lambda i: (i.test, i.seed))],
    }
