"""Describes a tree of switches and workers: what is behind each port (MINA, "RTL", Tree)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

MAX_WORKERS = 32  #: sums of this many 32-bit numbers fit the 37 bits that go up

#: What is behind a port: None, a worker; a number, a switch with that many workers; or a switch
#: with these behind its ports.
Below = int | None | Sequence["Below"]


@dataclass(frozen=True)
class Member:
    """Describes a switch or a worker. Child k of a switch is behind its port k."""

    parent: int | None  #: number of the switch above; None: this is the root
    place: int  #: which child of it this is
    children: tuple[int, ...]  #: numbers of the members below; a worker has none

    @property
    def everyone(self) -> int:
        """Return the bitmap of the children's ports."""
        return (1 << len(self.children)) - 1

    @property
    def parent_port(self) -> int | None:
        """Return the port to the parent, the one after the children's; None for the root."""
        return None if self.parent is None else len(self.children)


@dataclass(frozen=True)
class TreePlan:
    """Lists the members of a tree by number: the switches, the root first, then the workers.

    ``below`` says what the root has behind its ports: ``(2, 2)`` are two switches with two workers
    each. ValueError if there are no workers, or more than :data:`MAX_WORKERS`.
    """

    below: Sequence[Below]

    def __post_init__(self) -> None:
        if not 1 <= len(self.workers) <= MAX_WORKERS:
            raise ValueError(f"a tree has 1 to {MAX_WORKERS} workers: {len(self.workers)}")
        if any(not self.members[switch].children for switch in self.switches):
            raise ValueError(f"a switch of a tree has children: {self.below}")

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """Return all members, by number."""
        rows = list(rows_of(self.below, None, 0, 0))
        order = sorted(range(len(rows)), key=lambda row: rows[row][2])
        number = {row: k for k, row in enumerate(order)}
        below = {parent: [k for k, row in enumerate(rows) if row[0] == parent] for parent in number}
        return tuple(
            Member(
                parent=None if parent is None else number[parent],
                place=place,
                children=tuple(number[child] for child in below[row]),
            )
            for row in order
            for parent, place, _ in [rows[row]]
        )

    @cached_property
    def workers(self) -> range:
        """Return the numbers of the workers."""
        count = sum(worker for *_, worker in rows_of(self.below, None, 0, 0))
        return range(len(self.members) - count, len(self.members))

    @property
    def switches(self) -> range:
        """Return the numbers of the switches."""
        return range(self.workers.start)

    @property
    def ports(self) -> int:
        """Return how many ports each switch needs, for its children and its parent."""
        members = (self.members[switch] for switch in self.switches)
        return max(len(item.children) + (item.parent is not None) for item in members)


Row = tuple[int | None, int, bool]  #: the row above, which child of it, whether it is a worker


def rows_of(below: Below, parent: int | None, place: int, first: int) -> Iterator[Row]:
    """Yield a subtree as rows, parents before children; its root is row number ``first``."""
    yield parent, place, below is None
    row = first + 1
    for k, child in enumerate([None] * below if isinstance(below, int) else below or ()):
        subtree = list(rows_of(child, first, k, row))
        yield from subtree
        row += len(subtree)
