"""Follows a run: after every epoch, the workers' training beside those that it is compared with."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sim.golden.arithmetic import Integers
from sim.switchgnn.gcn.aggregator import COUNTERS, MakeAggregator
from sim.switchgnn.gcn.evaluation import Quality, fixed_quality, quality
from sim.switchgnn.gcn.run import GcnRun

#: The trainings, by what names of figures begin with: whose weights they are.
SOURCES = {
    "switch": "the workers' weights",
    "golden": "weights of one worker that owns all vertices",
    "float": "weights of float64",
    "plain": "weights of the same network without edges",
}


@dataclass(frozen=True)
class Row:
    """After so many epochs."""

    epoch: int
    qualities: dict[str, Quality]  #: by SOURCES
    bit_exact: bool  #: weights and logits of workers equal those of one worker
    saturations: int  #: features that did not fit, since the last row
    counters: dict[str, int]  #: COUNTERS, since the last row

    def flat(self) -> dict[str, Any]:
        """The row fit for JSON."""
        named = {
            f"{source}_{name}": value
            for source, found in self.qualities.items()
            for name, value in asdict(found).items()
        }
        return {name: value for name, value in vars(self).items() if name != "qualities"} | named


class Comparison:
    """The trainings of a run, which go on together."""

    def __init__(self, run: GcnRun, make: MakeAggregator) -> None:
        self.run = run
        self.switch = run.shared(make)
        self.golden, self.plain, self.float = run.alone, run.without_edges, run.in_float
        self.rows: list[Row] = []
        self.difference = ""  #: the first thing that is not as it must be, in a line

    def look(self) -> Row:
        """See how good all weights are."""
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
        """Train all of them for an epoch, after they have looked."""
        for training in (self.switch, self.golden, self.plain, self.float):
            training.learn()

    def difference_of(self, logits: Integers, golden: Integers) -> str:
        """The first weight that is not that of one worker, or else the first logit."""
        named = [
            (f"weight {{}} of layer {number}", mine, other)
            for number, (mine, other) in enumerate(
                zip(self.switch.weights, self.golden.weights, strict=True)
            )
        ]
        for what, mine, other in [*named, ("logit {}", logits, golden)]:
            for place in np.argwhere(mine != other)[:1]:
                at = tuple(place.tolist())
                return f"{what.format(list(at))} is {mine[at]}, one worker has {other[at]}"
        return ""

    @property
    def counted(self) -> Counter[str]:
        """COUNTERS of all aggregators, since the beginning."""
        return sum((each.counts for each in self.switch.aggregators), Counter())

    @property
    def total(self) -> Counter[str]:
        """COUNTERS of all rows."""
        return sum((Counter(row.counters) for row in self.rows), Counter())

    @property
    def warnings(self) -> list[str]:
        """What says that the training came to nothing, a line each."""
        found = []
        loss, chance = self.rows[-1].qualities["switch"].loss, np.log(self.run.problem.classes)
        if not loss <= chance:
            found.append(
                f"the loss ends at {loss:.5g}, above the {chance:.5g} of no network; a lower --eta"
                f" than {self.run.asked.eta:.3g} helps"
            )
        saturations = sum(row.saturations for row in self.rows)
        if saturations:
            found.append(
                f"{saturations:,} features did not fit {self.run.asked.bits} bits: they grew to"
                " more than twice the largest of the epoch before"
            )
        return found
