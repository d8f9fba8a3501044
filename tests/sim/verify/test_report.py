from datetime import UTC, datetime
from pathlib import Path

from sim.verify.items import Item
from sim.verify.regression import Options, Outcome
from sim.verify.report import verify_json

RUN = {"seconds": 2.0, "build_seconds": 0.5, "cycles": 40, "built": True, "cases": []}


def item(test, seed, *runs):
    return Item(test=test, seed=seed, outcome="passed", seconds=3, runs=runs)


def test_items_in_order_and_sums():
    options = Options(
        root=Path(), targets=["tests"], seeds=[3, 4], jobs=2, keyword="k", durations=Path()
    )
    outcome = Outcome([item("b", 3, RUN), item("a", 4), item("a", 3, RUN, RUN)], interrupted=True)
    made = verify_json(options, outcome, datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), 1.23456)
    assert [(item["test"], item["seed"]) for item in made.pop("items")] == [
        ("a", 3),
        ("a", 4),
        ("b", 3),
    ]
    assert made == {
        "format": 1,
        "made_by": "ingather",
        "command": "verify",
        "started": "2026-01-02T03:04:05+00:00",
        "seconds": 1.235,
        "jobs": 2,
        "seeds": [3, 4],
        "targets": ["tests"],
        "filter": "k",
        "interrupted": True,
        "simulation_seconds": 6.0,
        "build_seconds": 1.5,
    }
