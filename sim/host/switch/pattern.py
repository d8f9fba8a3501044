"""Records the communication patterns of jobs while they run, for a scheduler of switches.

MINA (section IV-B) collects them in the network library alone, without a look at the model: when
a job calls for each all-reduce of a step, how many bytes that has, and when the job begins to wait
for the results. So a pattern follows from what the job computes, not from how quick the network is.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any


@dataclass
class Step:
    """Holds what a job did in a step; times are in seconds since the step began."""

    began: float
    starts: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    waited: float | None = None


class PatternRecorder:
    """Records the pattern of a job of ``hosts`` hosts; one of them is enough, as all do the same.

    A step begins when the recorder is made, and whenever :meth:`resumed` is called. ``now`` returns
    the time in seconds. The first ``warm_up`` steps count as steps, but are not in the pattern.
    """

    def __init__(
        self,
        model: str,
        hosts: int,
        *,
        arrival: float = 0.0,
        warm_up: int = 1,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.model, self.hosts, self.arrival = model, hosts, arrival
        self.warm_up, self.now = warm_up, now
        self.steps: list[Step] = []  #: those that are over
        self.step = Step(now())

    def scheduled(self, size: int) -> None:
        """Note that the job calls for an all-reduce of ``size`` bytes, whenever it will start."""
        if self.step.waited is not None:
            raise ValueError(
                f"job {self.model}: an all-reduce is scheduled while the job waits for results"
            )
        self.step.starts.append(self.now() - self.step.began)
        self.step.sizes.append(size)

    def waits(self) -> None:
        """Note that the job begins to wait for the results of all of the step's all-reduces."""
        if self.step.waited is None:
            self.step.waited = self.now() - self.step.began

    def resumed(self) -> None:
        """Note that the job has all results: the step is over, and the next one begins."""
        if self.step.waited is None:
            raise ValueError(f"job {self.model}: a step is over before the job waited for results")
        self.steps.append(self.step)
        self.step = Step(self.now())

    def pattern(self) -> dict[str, Any]:
        """Return the medians of all steps: ``duration``, and ``allreduces`` by start and size.

        ValueError if there is no step behind the warm-up, or if steps have other all-reduces.
        """
        steps = self.steps[self.warm_up :]
        if not steps:
            raise ValueError(
                f"job {self.model}: no step is recorded: {len(self.steps)} ended, and the first"
                f" {self.warm_up} are left out"
            )
        for number, step in enumerate(steps, self.warm_up + 1):
            if step.sizes != steps[0].sizes:
                raise ValueError(
                    f"job {self.model}: step {number} has other all-reduces than the first one"
                    f" that is recorded: {step.sizes} and {steps[0].sizes} bytes"
                )
        starts = [median(times) for times in zip(*(step.starts for step in steps), strict=True)]
        return {
            "duration": median(step.waited for step in steps if step.waited is not None),
            "allreduces": [
                {"start": start, "size": size}
                for start, size in zip(starts, steps[0].sizes, strict=True)
            ],
        }


def recording(recorders: Sequence[PatternRecorder]) -> dict[str, Any]:
    """Return jobs and patterns as ``ingather schedule --jobs`` reads them.

    A job has as many steps as ended. Jobs of one name share a pattern: the first one's.
    """
    models: dict[str, Any] = {}
    for each in recorders:
        if each.model not in models:
            models[each.model] = each.pattern()
    jobs = [
        {
            "model": each.model,
            "hosts": each.hosts,
            "steps": len(each.steps),
            "arrival": each.arrival,
        }
        for each in recorders
    ]
    return {"models": models, "jobs": jobs}


def save(path: Path, recorders: Sequence[PatternRecorder]) -> None:
    """Write the recording of jobs to ``path``; what is there stays if a pattern is not whole."""
    path.write_text(json.dumps(recording(recorders), indent=1) + "\n")
