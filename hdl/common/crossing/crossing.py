"""Describes clock crossings, as a design tells them to its constraints."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """Names an instance in which signals go from one clock to another."""

    path: str  #: path of the instance, below the component that says so: names joined by /
    constraint: str  #: macro of constraints/u280/crossings.xdc.j2 that holds for it
    source: str  #: clock domain that signals come from; "any" where nothing is timed
    target: str  #: clock domain that they go to


def inside(
    name: str, crossings: Iterable[Crossing], domains: Mapping[str, str]
) -> tuple[Crossing, ...]:
    """Return ``crossings`` of a submodule called ``name``, as its parent sees them.

    ``domains`` is what each domain of the submodule is called in the parent, if not the same.
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
