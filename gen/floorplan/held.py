"""Assigns registers of pipelines between SLRs to SLRs, and finds those at an SLR's edge."""

from collections.abc import Iterator, Mapping
from typing import Any

from gen.floorplan.hierarchy import Hierarchy, Leaf, is_long, is_way
from gen.floorplan.model import Held
from gen.floorplan.wires import Wires


def held_of(hierarchy: Hierarchy, wires: Wires, assignment: Mapping[str, int]) -> Iterator[Held]:
    """Yield the SLR of each register between SLRs, for the ``assignment`` of parts to SLRs.

    Each register of a pipeline lies in one SLR; a boundary is crossed between two successive
    registers. A synchroniser lies in the SLR of its readers, as the wire to it is not timed.
    """
    for leaf in hierarchy.leaves:
        if not is_way(leaf.module):
            continue
        near, far = (
            {assignment[part] for part in wires.parts_at(leaf, side)} for side in ("i", "o")
        )
        if not (near and far):
            continue  # it carries nothing
        (source,), (target,) = near, far
        if is_long(leaf.module):
            if source != target:
                yield from registers_of(leaf, source, target)
        elif target != assignment[leaf.owner]:
            yield Held("/".join(leaf.path), target)


def registers_of(route: Leaf, source: int, target: int) -> Iterator[Held]:
    """Yield the registers of a pipeline from SLR ``source`` to ``target``, and its far end."""
    assert route.module is not None
    component: Any = route.module.component
    path = "/".join(route.path)
    for names, ends in ((component.out, (source, target)), (component.back, (target, source))):
        lies = positions(component.params.stages, *ends)
        for name in names:
            for k, register in enumerate(component.registers(name)):
                neighbours = lies[max(k - 1, 0) : k + 2]
                at_edge = any(slr != lies[k] for slr in neighbours)
                yield Held(f"{path}/{register}_reg*", lies[k], at_edge)
    yield from (Held(f"{path}/{name}", target) for name in component.far)


def positions(stages: int, source: int, target: int) -> list[int]:
    """Return the SLR of each of ``stages`` registers between two SLRs.

    A boundary has a register on each side, and a register is at one boundary only. Registers that
    are left over go to the SLRs in between first, where wires run from one edge to the other.
    """
    step = 1 if target > source else -1
    slrs = list(range(source, target + step, step))
    between = slrs[1:-1]
    result = [slrs[0], *between, *between, slrs[-1]]
    turns = [*between, slrs[0], slrs[-1]]
    result += [turns[k % len(turns)] for k in range(stages - len(result))]
    return sorted(result, reverse=step < 0)
