"""Describes clock crossings, from which a design's constraints are written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """Names an instance with a clock crossing, and the constraint for it."""

    path: str  #: path of the instance within the component: names joined by /
    constraint: str  #: macro of constraints/u280/crossings.xdc.j2 that constrains it
    source: str  #: clock domain that signals come from; "any" if nothing is timed
    target: str  #: clock domain that they go to


def inside(
    name: str, crossings: Iterable[Crossing], domains: Mapping[str, str]
) -> tuple[Crossing, ...]:
    """Return ``crossings`` of a submodule called ``name``, as its parent sees them.

    ``domains`` maps the submodule's names of domains to the parent's, if they differ.
    """
    return tuple(
        replace(
            crossing,
            path=f"{name}/{crossing.path}" if crossing.path else name,
            source=domains.get(crossing.source, crossing.source),
            target=domains.get(crossing.target, crossing.target),
        )
        for crossing in crossings
    )
