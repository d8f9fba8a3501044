"""Says which instances of a design are placed as a whole, and which have a fixed SLR."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

#: path of an instance: names of the instances around it, from the top, then its own
Path = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PlanPart:
    """Names instances that together are a part or, with ``each``, are a part each."""

    name: str  #: name of the part; with ``each``, of this entry only
    cells: tuple[str, ...]  #: paths such as ``worker/core/group_*``; stars stay within a name
    slr: int | None = None  #: the SLR that it must lie in, if it must
    each: bool = False  #: every instance is a part, called by the last name of its path
    optional: bool = False  #: whether a design may be without such an instance


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Lists the parts of a design; an instance and all inside belong to the first that names it.

    An instance that no entry names belongs to the part around it, or else to ``rest``.
    """

    parts: tuple[PlanPart, ...] = ()
    rest: str = "hub"  #: the part of everything else
    rest_slr: int | None = 0  #: the SLR that it must lie in, if it must

    def entry(self, path: Path) -> PlanPart | None:
        """Return the entry that names the instance at ``path``."""
        return next((part for part in self.parts if matches(part, path)), None)

    def looks_below(self, path: Path) -> bool:
        """Return whether an entry may name an instance somewhere inside the one at ``path``."""
        return any(
            len(names) > len(path) and fits(names[: len(path)], path)
            for part in self.parts
            for names in map(split, part.cells)
        )


def matches(part: PlanPart, path: Path) -> bool:
    """Return whether ``part`` names the instance at ``path``."""
    return any(fits(split(cells), path) for cells in part.cells)


def split(cells: str) -> Path:
    """Split a path, or a pattern of paths, into its names."""
    return tuple(cells.split("/"))


def fits(pattern: Path, path: Path) -> bool:
    """Return whether the names are those of the pattern, one by one."""
    return len(pattern) == len(path) and all(map(fnmatchcase, path, pattern))
