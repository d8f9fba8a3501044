"""Holds the simulators of all parts of a system that is cut."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from sim.harness.verilate import Build

#: workers of a Dask cluster (sim.cluster.placing) that build in place of this machine
WORKERS: ContextVar[Any] = ContextVar("workers", default=None)


@dataclass(frozen=True)
class PartBuilds(Build):
    """Holds the simulators of all parts of a system; otherwise it is one of them."""

    parts: tuple[Build, ...] = ()


def build_each(
    work: Callable[[list[int]], list[Build]], links: Sequence[Any], count: int, shown: int = 0
) -> PartBuilds:
    """Build ``count`` parts, which ``links`` join, by ``work``; it builds parts of some numbers.

    :data:`WORKERS` do so, if there are any. The waves of part ``shown`` are seen.
    """
    workers = WORKERS.get()
    builds = workers.build(links, count, work) if workers else work([*range(count)])
    return of_parts(builds, shown)


def of_parts(parts: Sequence[Build], shown: int = 0) -> PartBuilds:
    """Return the simulators of all parts, as one: that of part ``shown``, whose waves are seen."""
    each = {id(build): build for build in parts}.values()
    return PartBuilds(
        **{
            **vars(parts[shown]),
            "built": any(build.built for build in each),
            "seconds": sum(build.seconds for build in each),
            "parts": tuple(parts),
        }
    )
