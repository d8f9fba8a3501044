"""Models both sides of a crossing with a rule of resets, at all resets and phases of two clocks.

What moves a pointer is decided a cycle before, by what its side trusts then. Pointers are known by
their generation: how often their side had cleared before they moved. What the other side sees of a
pointer while it jumps to zero may be any number, ``GARBAGE``.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hdl.common.crossing.reset_handshake import START, Flags, Side, advance, runs

GENERATIONS = 8  #: told apart; there are never so many at a time
GARBAGE = -1

COLLIDES = "a side moves a pointer that it clears, or has not cleared since it was reset"
STALE = "a side runs and trusts a pointer that is not of its generation"
NOT_EMPTIED = "a side runs that has not cleared since it was reset"
FAULTS = frozenset({STALE, NOT_EMPTIED, COLLIDES})


@dataclass(frozen=True)
class Rule:
    """Tabulates what a side does, with NumPy's bools, as it is asked for."""

    advance: Callable[[Side, Flags, np.bool_], Side] = advance
    runs: Callable[[Side, Flags], np.bool_] = runs
    after: Callable = field(init=False)
    moves: Callable = field(init=False)

    def __post_init__(self) -> None:
        @cache
        def after(side: Side, remote: Flags, reset: bool) -> Side:
            stepped = self.advance(bools(side), bools(remote), np.bool_(reset))
            return Side(bool(stepped.needs), Flags(*map(bool, stepped.flags)))

        @cache
        def moves(side: Side, remote: Flags) -> bool:
            return bool(self.runs(bools(side), bools(remote)))

        object.__setattr__(self, "after", after)
        object.__setattr__(self, "moves", moves)


def bools(bits):
    """Return the same tuple with NumPy's bools, which know & and ~ as hardware does."""
    return type(bits)(*(bools(b) if isinstance(b, tuple) else np.bool_(b) for b in bits))


class End(NamedTuple):
    """All registers of one clock, and what only the checker knows."""

    side: Side = START
    first: Flags = Flags(0, 0, 0)  # of the synchroniser, then
    remote: Flags = Flags(0, 0, 0)
    pointer: int = 0  # generation of the own one, and of what is seen of the other's
    pointer_first: int = 0
    pointer_seen: int = 0
    generation: int = 0
    dirty: bool = True  # reset since it last cleared
    moves: bool = False  # it may move its pointer now: it ran a cycle ago, and was not reset


class Step(NamedTuple):
    """Says what happened: which clocks ticked, and which resets were high then."""

    ticked: tuple[bool, ...]
    resets: tuple[bool, ...]


Pair = tuple[End, ...]


def tick(rule: Rule, end: End, flags: Flags, pointer: int, reset: bool) -> End:
    """Play an edge of the end's clock; ``flags`` and ``pointer`` are caught from the other end."""
    side = rule.after(end.side, end.remote, reset)
    cleared = end.side.flags.cleared
    return End(
        side,
        flags,
        end.first,
        end.generation if cleared else end.pointer,
        pointer,
        end.pointer_first,
        end.generation + (side.flags.cleared and not cleared),
        reset or (end.dirty and not cleared),
        rule.moves(end.side, end.remote) and not reset,
    )


def caught(before: End, after: End) -> Iterator[tuple[Flags, int]]:
    """Return what an edge may catch of registers that change with it: each bit old or new."""
    jumps = before.pointer != after.pointer
    pointers = (before.pointer, after.pointer, GARBAGE) if jumps else (after.pointer,)
    for flags in choices(before.side.flags, after.side.flags):
        for pointer in pointers:
            yield flags, pointer


@cache
def choices(before: Flags, after: Flags) -> list[Flags]:
    """Return all combinations, with each bit old or new."""
    bits = zip(before, after, strict=True)
    return [Flags(*choice) for choice in product(*({old, new} for old, new in bits))]


def normal(pair: Pair) -> Pair:
    """Count generations from that of the first end on."""
    base = pair[0].generation
    if base == 0 and pair[1].generation < GENERATIONS:
        return pair

    def since(generation: int) -> int:
        return generation if generation == GARBAGE else (generation - base) % GENERATIONS

    return tuple(
        end._replace(
            pointer=since(end.pointer),
            pointer_first=since(end.pointer_first),
            pointer_seen=since(end.pointer_seen),
            generation=since(end.generation),
        )
        for end in pair
    )


def steps(rule: Rule, pair: Pair, resets: tuple[bool, ...] = (False, True)):
    """Return every edge, or two at once, with every reset: (step, pair after it)."""
    for near in (0, 1):
        end, other = pair[near], pair[1 - near]
        for reset in resets:
            after = tick(rule, end, other.side.flags, other.pointer, reset)
            both = (after, other) if near == 0 else (other, after)
            yield Step((near == 0, near == 1), (reset and near == 0, reset and near == 1)), both
    for high in product(resets, repeat=2):
        plain = [tick(rule, pair[k], pair[k].first, 0, high[k]) for k in (0, 1)]
        ends = (
            [
                tick(rule, pair[k], flags, pointer, high[k])
                for flags, pointer in caught(pair[1 - k], plain[1 - k])
            ]
            for k in (0, 1)
        )
        step = Step((True, True), high)
        for both in product(*ends):
            yield step, both


def fault(rule: Rule, pair: Pair) -> str:
    """Return what is wrong with a pair of ends, or ""."""
    for end in pair:
        if rule.moves(end.side, end.remote):
            if not end.pointer_seen == end.pointer == end.generation:
                return STALE
            if end.dirty:
                return NOT_EMPTIED
        if end.moves and (end.dirty or end.side.flags.cleared or end.pointer != end.generation):
            return COLLIDES
    return ""


@dataclass(frozen=True)
class Findings:
    """What can be reached, or the first fault and the shortest way to it."""

    pairs: frozenset[Pair]
    fault: str
    trace: tuple[Step, ...]


def explore(rule: Rule, watched: frozenset[str] = FAULTS) -> Findings:
    """Explore all pairs of ends from power-up on, breadth first."""
    start = (End(), End())
    parents: dict[Pair, tuple[Pair, Step] | None] = {start: None}
    waiting = deque(parents)
    while waiting:
        pair = waiting.popleft()
        for step, after in steps(rule, pair):
            after = normal(after)
            if after in parents:
                continue
            parents[after] = (pair, step)
            if (wrong := fault(rule, after)) in watched:
                trace, at = [], after
                while (parent := parents[at]) is not None:
                    at, step = parent
                    trace.append(step)
                return Findings(frozenset(parents), wrong, tuple(reversed(trace)))
            waiting.append(after)
    return Findings(frozenset(parents), "", ())


def never_start(rule: Rule, pairs: frozenset[Pair]) -> list[Pair]:
    """Return the ``pairs`` from which, without resets, both sides may fail to run for ever.

    They are on a cycle of edges of both clocks on which there is a pair that does not run.
    """
    numbers = {pair: k for k, pair in enumerate(pairs)}
    edges, both_run = (
        [],
        [all(rule.moves(end.side, end.remote) for end in pair) for pair in numbers],
    )
    for pair, k in numbers.items():
        for step, after in steps(rule, pair, (False,)):
            edges.append((k, numbers[normal(after)], step.ticked))
    rows, columns = [k for k, _, _ in edges], [k for _, k, _ in edges]
    graph = coo_array((np.ones(len(edges)), (rows, columns)), shape=(len(numbers),) * 2)
    _, part = connected_components(graph, connection="strong")
    ticked: dict[int, set[int]] = {}
    for near, far, clocks in edges:
        if part[near] == part[far]:
            ticked.setdefault(part[near], set()).update(k for k in (0, 1) if clocks[k])
    live = {p for p, clocks in ticked.items() if clocks == {0, 1}}
    return [pair for pair, k in numbers.items() if part[k] in live and not both_run[k]]
