"""Describes what became of the items of a regression."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

OUTCOMES = ("passed", "failed", "error", "timeout", "skipped")
GOOD = ("passed", "skipped")
SEED_IN_NAME = r"\[seed=(\d+)\]$|-seed=(\d+)(?=\]$)"  #: how sim.verify.seeds writes a seed


@dataclass(frozen=True, kw_only=True)
class Item:
    """Describes a test with its parameters, run on one seed."""

    test: str  #: pytest's name of it, without the seed
    seed: int
    outcome: str  #: one of OUTCOMES
    seconds: float  #: set-up and tear-down included
    message: str = ""  #: why it is not good, in a line
    runs: tuple[Mapping[str, Any], ...] = ()  #: its simulations, as records.describe tells them
    failure: Mapping[str, Any] | None = None  #: case, first wrong beat, replay, log, waves, gtkw
    output: str = field(default="", repr=False)  #: traceback and log of a failure
    failed: str = field(default="", repr=False)  #: simulation and run that failed, pickled

    @property
    def good(self) -> bool:
        """Return whether the item counts as no failure."""
        return self.outcome in GOOD

    @property
    def simulation_seconds(self) -> float:
        """Add up the seconds that its simulators ran."""
        return sum(run["seconds"] for run in self.runs)

    @property
    def build_seconds(self) -> float:
        """Return the seconds that its simulators took to build, or to be found."""
        return sum(run["build_seconds"] for run in self.runs)

    @property
    def cycles(self) -> int:
        """Add up the cycles that were simulated in all of its runs."""
        return sum(run["cycles"] for run in self.runs)

    @property
    def built(self) -> int:
        """Return how many of its simulators were built for it."""
        return sum(run["built"] for run in self.runs)

    def with_failure(self, failure: Mapping[str, Any]) -> "Item":
        """Copy the item, with an explanation of its failure."""
        return replace(self, failure=failure)

    def to_json(self) -> dict[str, Any]:
        """Return the item as verify.json has it."""
        return {
            "test": self.test,
            "seed": self.seed,
            "outcome": self.outcome,
            "seconds": round(self.seconds, 3),
            "message": self.message,
            "runs": [dict(run) for run in self.runs],
            "failure": None if self.failure is None else dict(self.failure),
        }


def name_of(nodeid: str) -> str:
    """Return pytest's name of an item without its seed."""
    return re.sub(SEED_IN_NAME, "", nodeid)


def seed_in(nodeid: str) -> int | None:
    """Return the seed in pytest's name of an item; None if it has none."""
    result = re.search(SEED_IN_NAME, nodeid)
    return int(result[1] or result[2]) if result else None


def counts(items: Sequence[Item]) -> dict[str, int]:
    """Count the items of each outcome that occurs."""
    result = Counter(item.outcome for item in items)
    return {outcome: result[outcome] for outcome in OUTCOMES if result[outcome]}
