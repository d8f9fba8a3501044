"""Plans a sweep's work as a graph: hardware is built and synthesised once for all its points."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from gen.sweep import tasks
from gen.sweep.plan import Plan, Point
from sim.cluster.dispatch import Call


@dataclass(kw_only=True, eq=False)
class Task(Call):
    """Describes one piece of work for a worker of the cluster: a call that returns its outcome."""

    text: str  #: what is done, as shown to the user
    point: "Waiting | None" = None  #: the point that it measures, if any
    serves: list["Waiting"] = field(default_factory=list)  #: points that wait for it
    outcome: tasks.Outcome | None = None


@dataclass
class Waiting:
    """Tracks a point until it is measured, or has failed."""

    point: Point
    build: Task | None = None
    synthesis: Task | None = None
    finished: bool = False

    @property
    def needs(self) -> Iterator[Task]:
        """Yield the tasks that must be done before the point can be measured."""
        yield from (task for task in (self.build, self.synthesis) if task is not None)

    @property
    def ready(self) -> bool:
        """Return whether all tasks that the point needs have ended, successful or not."""
        return all(task.outcome is not None for task in self.needs)


def graph_of(plan: Plan, points: Sequence[Point]) -> tuple[list[Task], list[Waiting]]:
    """Return the tasks that need no others, in the order of the points; and the points."""
    result: dict[str, Task] = {}
    waiting = [Waiting(point) for point in points]
    for item in waiting:
        point = item.point
        if "rtl" in plan.origins:
            hardware = plan.subject.hardware(point.params, point.workload)
            item.build = once(result, plan, "build", hardware)
            item.build.serves.append(item)
        if "synth" in plan.origins:
            item.synthesis = once(result, plan, "synth", point.params)
            item.synthesis.serves.append(item)
    return list(result.values()), waiting


def once(result: dict[str, Task], plan: Plan, kind: str, hardware: Any) -> Task:
    """Return the task of ``kind`` for some hardware, which is made only once."""
    known = f"{plan.version} {plan.design.name} {hardware!r}"
    key = f"{kind}-{sha256(known.encode()).hexdigest()[:20]}"
    if key not in result:
        name = getattr(getattr(hardware, "params", hardware), "suffix", "") or plan.design.name
        text, function, subject = {
            "build": ("building", tasks.build, plan.subject),
            "synth": ("synthesising", tasks.synthesise, plan.design),
        }[kind]
        result[key] = Task(
            key=key,
            text=f"{text} {name}",
            function=function,
            arguments=(key, subject, hardware),
        )
    return result[key]


def measurement(plan: Plan, item: Waiting) -> Task:
    """Make the task that measures a point whose simulator is built."""
    point = item.point
    assert item.build is not None
    assert item.build.outcome is not None
    values = ", ".join(f"{name}={value}" for name, value in point.provided.items())
    return Task(
        key=point.key,
        text=f"measuring {values}",
        function=tasks.measure,
        arguments=(
            point.key,
            plan.subject,
            point.params,
            point.workload,
            item.build.outcome.value,
            plan.spec.clock_mhz,
        ),
        point=item,
    )
