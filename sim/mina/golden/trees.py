"""Specifies the fat tree's aggregation trees, as sets of names of what two cannot share."""

from collections.abc import Sequence
from itertools import product
from math import prod

Tree = frozenset[tuple[object, ...]]


def top_of(hosts: Sequence[int], down: Sequence[int]) -> int:
    """Return the lowest layer with one switch group above all hosts; 0 for a single host."""
    for layer in range(len(down) + 1):
        if len({host // prod(down[:layer]) for host in hosts}) == 1:
            return layer
    raise AssertionError("all hosts are below the last layer")


def all_trees(
    hosts: Sequence[int], down: Sequence[int], up: Sequence[int], ports: bool
) -> list[Tree]:
    """Return a tree for each root; the index of the lowest layer changes first."""
    top = top_of(hosts, down)
    roots = [path[::-1] for path in product(*(range(count) for count in reversed(up[:top])))]
    return [tree_of(hosts, down, root, ports) for root in roots]


def tree_of(hosts: Sequence[int], down: Sequence[int], root: Sequence[int], ports: bool) -> Tree:
    """Return a root's tree: hosts go up by the root's indices; links to hosts are left out."""
    used: set[tuple[object, ...]] = set()
    for host in hosts:
        for layer in range(1, len(root) + 1):
            switch = (layer, host // prod(down[:layer]), tuple(root[:layer]))
            if not ports:
                used.add(switch)
            elif layer < len(root):
                used.add((*switch, root[layer]))
    return frozenset(used)
