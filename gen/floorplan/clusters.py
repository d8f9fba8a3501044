"""Groups parts that must share an SLR, since wires without registers join them."""

from collections.abc import Sequence
from dataclasses import dataclass

from gen.floorplan.model import FloorplanError, Link, Part
from gen.synth.device import Device
from gen.synth.resources import Resources


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Holds parts that are placed together."""

    parts: tuple[Part, ...]
    slr: int | None  #: the SLR that one of them must lie in

    @property
    def resources(self) -> Resources:
        """Return the sum of all parts' resources."""
        return sum((part.resources for part in self.parts), Resources())


def clusters_of(parts: Sequence[Part], links: Sequence[Link], device: Device) -> list[Cluster]:
    """Return the clusters, in the order of their first parts.

    FloorplanError names the wires that hold together what must lie apart.
    """
    by_name = {part.name: part for part in parts}
    neighbours: dict[str, list[Link]] = {part.name: [] for part in parts}
    for link in links:
        if not link.registered and link.wires:
            neighbours[link.a].append(link)
            neighbours[link.b].append(link)
    clusters: list[Cluster] = []
    seen: set[str] = set()
    for start in by_name:
        if start not in seen:
            names = reach(start, neighbours)
            seen.update(names)
            inside = tuple(part for part in parts if part.name in names)
            clusters.append(Cluster(parts=inside, slr=only_slr(inside, neighbours, device)))
    return clusters


def reach(start: str, neighbours: dict[str, list[Link]]) -> dict[str, Link | None]:
    """Return all parts joined with ``start``, nearest first, each with the link to it."""
    result: dict[str, Link | None] = {start: None}
    waiting = [start]
    for name in waiting:
        for link in neighbours[name]:
            other = link.b if link.a == name else link.a
            if other not in result:
                result[other] = link
                waiting.append(other)
    return result


def only_slr(
    parts: Sequence[Part], neighbours: dict[str, list[Link]], device: Device
) -> int | None:
    """Return the SLR that ``parts`` are fixed in, if any; raise FloorplanError if there are two."""
    fixed = [part for part in parts if part.slr is not None]
    for part in fixed:
        if part.slr != fixed[0].slr:
            raise FloorplanError(apart(fixed[0], part, neighbours, device))
    return fixed[0].slr if fixed else None


def apart(first: Part, second: Part, neighbours: dict[str, list[Link]], device: Device) -> str:
    """Explain why two parts cannot lie apart: the wires that join them."""
    result = reach(first.name, neighbours)
    steps: list[str] = []
    name = second.name
    while (link := result[name]) is not None:
        nearer = link.a if link.b == name else link.b
        example = f" such as {link.example}" if link.example else ""
        steps.insert(0, f"{nearer} to {name} by {link.wires:,} wires{example}")
        name = nearer
    slrs = [device.slrs[part.slr or 0].name for part in (first, second)]
    return (
        f"{first.name} must lie in {slrs[0]} and {second.name} in {slrs[1]},"
        f" but no registers are between them: {', '.join(steps)}"
    )
