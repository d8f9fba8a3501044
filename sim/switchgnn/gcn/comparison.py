"""Compares, after every epoch of a run, the workers' training with reference trainings."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sim.golden.arithmetic import Integers
from sim.switchgnn.gcn.aggregator import COUNTERS, MakeAggregator
from sim.switchgnn.gcn.evaluation import Quality, fixed_quality, quality
from sim.switchgnn.gcn.run import GcnRun

#: Maps the beginning of a figure's name to the training whose weights it is about.
SOURCES = {
    "switch": "the workers' weights",
    "golden": "weights of one worker that owns all vertices",
    "float": "weights of float64",
    "plain": "weights of the same network without edges",
}


@dataclass(frozen=True)
class Row:
    """Holds the state of all trainings after a number of epochs."""

    epoch: int
    qualities: dict[str, Quality]  #: quality by source, one of SOURCES
    bit_exact: bool  #: weights and logits of workers equal those of one worker
    saturations: int  #: features that did not fit, since the last row
    counters: dict[str, int]  #: COUNTERS, since the last row

    def flat(self) -> dict[str, Any]:
        """Return the row fit for JSON."""
        named = {
            f"{source}_{name}": value
            for source, result in self.qualities.items()
            for name, value in asdict(result).items()
        }
        return {name: value for name, value in vars(self).items() if name != "qualities"} | named


class Comparison:
    """Runs the trainings of a run, which advance together."""

    def __init__(self, run: GcnRun, make: MakeAggregator) -> None:
        self.run = run
        self.switch = run.shared(make)
        self.golden, self.plain, self.float = run.alone, run.without_edges, run.in_float
        self.rows: list[Row] = []
        self.difference = ""  #: the first difference from the references, in a line

    def look(self) -> Row:
        """Evaluate all trainings' weights; return the row."""
        logits, golden = self.switch.look(), self.golden.look()
        plain, floats = self.plain.look(), self.float.look()
        difference = self.switch.difference or self.difference_of(logits, golden)
        problem, before, now = self.run.problem, self.total, self.counted
        row = Row(
            epoch=len(self.rows),
            qualities={
                "switch": fixed_quality(problem, logits),
                "golden": fixed_quality(problem, golden),
                "float": quality(problem, floats),
                "plain": fixed_quality(problem, plain),
            },
            bit_exact=not difference,
            saturations=self.switch.saturations - sum(row.saturations for row in self.rows),
            counters={name: now[name] - before[name] for name in COUNTERS},
        )
        if difference and not self.difference:
            self.difference = f"after epoch {row.epoch}, {difference}"
        self.rows.append(row)
        return row

    def learn(self) -> None:
        """Train all of them for an epoch, after :meth:`look` has evaluated them."""
        for training in (self.switch, self.golden, self.plain, self.float):
            training.learn()

    def difference_of(self, logits: Integers, golden: Integers) -> str:
        """Return the first weight, or else logit, that differs from the one-worker run's."""
        named = [
            (f"weight {{}} of layer {number}", own, other)
            for number, (own, other) in enumerate(
                zip(self.switch.weights, self.golden.weights, strict=True)
            )
        ]
        for what, own, other in [*named, ("logit {}", logits, golden)]:
            for place in np.argwhere(own != other)[:1]:
                at = tuple(place.tolist())
                return f"{what.format(list(at))} is {own[at]}, one worker has {other[at]}"
        return ""

    @property
    def counted(self) -> Counter[str]:
        """Return COUNTERS of all aggregators, since the beginning."""
        return sum((each.counts for each in self.switch.aggregators), Counter())

    @property
    def total(self) -> Counter[str]:
        """Return COUNTERS of all rows, added up."""
        return sum((Counter(row.counters) for row in self.rows), Counter())

    @property
    def warnings(self) -> list[str]:
        """Return a line for each sign that the training has failed."""
        result = []
        loss, chance = self.rows[-1].qualities["switch"].loss, np.log(self.run.problem.classes)
        if not loss <= chance:
            result.append(
                f"the loss ends at {loss:.5g}, above the {chance:.5g} of no network; another"
                f" --eta than {self.run.requested.eta:.3g} may help"
            )
        saturations = sum(row.saturations for row in self.rows)
        if saturations:
            result.append(
                f"{saturations:,} features did not fit {self.run.requested.bits} bits: they grew to"
                " more than twice the largest of the epoch before"
            )
        return result
