"""Lists the instances that a part's constraints name: the outermost ones that lie in one SLR."""

from gen.floorplan.hierarchy import Hierarchy, Leaf, Place, is_long
from gen.floorplan.plan import Path


def cells_of(hierarchy: Hierarchy) -> dict[str, list[Path]]:
    """Map each part to the instances whose whole content is to lie in its SLR.

    Two kinds of instances are left out: pipelines between SLRs, and in the part of everything else
    the vendor's IP, which lies beside its pins and hardened blocks. Where an instance contains one
    of these, the other instances inside it are named one by one.
    """
    free = {
        item.path for item in (*hierarchy.places, *hierarchy.leaves) if is_free(item, hierarchy)
    }
    owners: dict[Path, set[str]] = {}
    for item in (*hierarchy.places, *hierarchy.leaves):
        for length in range(1, len(item.path) + 1):
            owners.setdefault(item.path[:length], set()).add(item.owner)
    mixed = {path for path, names in owners.items() if len(names) > 1}
    mixed |= {path[:length] for path in free for length in range(len(path) + 1)}
    return {
        name: sorted(
            path
            for path, names in owners.items()
            if names == {name} and path not in mixed and is_outermost(path, mixed)
        )
        for name in hierarchy.slrs
    }


def is_outermost(path: Path, mixed: set[Path]) -> bool:
    """Return whether no instance around the one at ``path`` can be named instead."""
    return len(path) == 1 or path[:-1] in mixed


def is_free(item: Place | Leaf, hierarchy: Hierarchy) -> bool:
    """Return whether the instance must not be constrained to one SLR as a whole."""
    if item.module is None:
        return isinstance(item, Leaf) and hierarchy.is_left(item)
    return is_long(item.module)
