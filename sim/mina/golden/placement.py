"""Specifies which hosts a job gets: algorithm 1 of the paper, in words of its section III-B."""

from collections.abc import Callable, Sequence
from math import inf, prod

Pod = Sequence[int]


def children(pod: Pod, down: Sequence[int]) -> list[Pod]:
    """Return the pods inside a pod of ``len(down)`` layers."""
    each = prod(down[:-1])
    return [pod[first : first + each] for first in range(0, len(pod), each)]


def fragments(chosen: set[int], pod: Pod, down: Sequence[int]) -> int:
    """Return 1 if all hosts of the pod are chosen, 0 if none is, else the sum of its inner pods."""
    count = len(chosen.intersection(pod))
    if count in (0, len(pod)):
        return min(count, 1)
    return sum(fragments(chosen, inside, down[:-1]) for inside in children(pod, down))


def score(taken: set[int], free: set[int], down: Sequence[int], alpha: float) -> float:
    """Return A + alpha B: fragments of the job, and of what stays free."""
    pod = range(prod(down))
    return fragments(taken, pod, down) + alpha * fragments(free - taken, pod, down)


def first(free: set[int], required: int) -> list[int]:
    """Return the first free hosts; none if they are too few."""
    return sorted(free)[:required] if len(free) >= required else []


def allocate(
    pod: Pod,
    down: Sequence[int],
    required: int,
    free: set[int],
    alpha: float,
    penalty: Callable[[int], float] = lambda leaf: 0,
) -> tuple[float, list[int]]:
    """Return the least score of this many hosts of a pod, and these; infinite if there are too few.

    Of equal scores it takes the one with the fewest hosts of the later pods. ``penalty`` is for the
    pods of the first layer, by their number, if any host is taken there.
    """
    available = free.intersection(pod)
    if required > len(available):
        return inf, []
    if not down:
        return (1, list(pod)) if required else (alpha * len(available), [])
    paid = 0.0
    if len(down) == 1:
        paid = penalty(pod[0] // down[0]) if required else 0
    if len(available) == len(pod) and required in (0, len(pod)):
        if not required:
            return alpha, []
        leaves = range(pod[0] // down[0], (pod[-1] + 1) // down[0])
        return 1 + sum(penalty(leaf) for leaf in leaves), list(pod)
    inner = (down[:-1], free, alpha, penalty)
    rows = [{0: (0.0, list[int]())}]
    for inside in children(pod, down):
        before, row = rows[-1], dict[int, tuple[float, list[int]]]()
        result = [allocate(inside, inner[0], n, *inner[1:]) for n in range(required + 1)]
        for n in range(required + 1):
            for later in range(n + 1):
                if n - later not in before or result[later][0] == inf:
                    continue
                total = result[later][0] + before[n - later][0]
                if n not in row or total < row[n][0]:
                    row[n] = total, before[n - later][1] + result[later][1]
        rows.append(row)
    total, hosts = rows[-1][required]
    return total + paid, hosts
