"""Computes the arrival at a bit: how far it is from a register, and what one more arc adds."""

from typing import NamedTuple

from gen.synth.arcs import Arc

PATH = 7  #: fields of an Arrival that belong to its worst path


class Arrival(NamedTuple):
    """Holds the worst way from a register to a bit, and the most of each kind on any way there.

    The order of the fields decides which of two ways is worse.
    """

    steps: int  #: levels + chains
    carry_sum: int  #: bits of all chains on the way
    levels: int  #: LUTs on the path
    chains: int  #: carry chains on the path
    carry: int  #: bits of the longest chain on the way
    pending: int  #: bits of the chain that the bit is in
    start: str  #: the register's name
    most_levels: int
    most_chains: int
    most_carry: int
    max_pending: int


class Route(NamedTuple):
    """Holds an arc of a graph, listed at the bit it leads to."""

    source: int
    arc: Arc | None  #: through a primitive
    child: Arrival | None = None  #: or through a module below


def begin(name: str, levels: int = 0) -> Arrival:
    """Make the arrival of a signal at a register, or ``levels`` of logic behind it."""
    return Arrival(levels, 0, levels, 0, 0, 0, name, levels, 0, 0, 0)


def worst_of(first: Arrival, second: Arrival) -> Arrival:
    """Return the worse path of two, with the most of each kind on either."""
    worse, better = (first, second) if first >= second else (second, first)
    most, rest = worse[PATH:], better[PATH:]
    if most == rest or most == (both := tuple(map(max, most, rest))):
        return worse
    return Arrival(*worse[:PATH], *both)


def delayed(arrival: Arrival, levels: int) -> Arrival:
    """Return ``arrival`` with ``levels`` more."""
    return arrival._replace(
        steps=arrival.steps + levels,
        levels=arrival.levels + levels,
        most_levels=arrival.most_levels + levels,
    )


def advance(arrival: Arrival, path: Route, backward: bool = False) -> Arrival:
    """Return ``arrival`` behind one more arc; with ``backward``, with an arc in front of it."""
    if path.child is not None:
        return past_child(arrival, path.child)
    arc = path.arc
    assert arc is not None
    levels = arc.levels
    if not arc.carry:
        return Arrival(
            arrival.steps + levels,
            arrival.carry_sum,
            arrival.levels + levels,
            arrival.chains,
            arrival.carry,
            0,
            arrival.start,
            arrival.most_levels + levels,
            arrival.most_chains,
            arrival.most_carry,
            0,
        )
    # The arc that enters is the first of a chain: forward nothing comes before it, and backward
    # nothing will come after it.
    goes_on = backward or not arc.enters
    stored = not (backward and arc.enters)
    chain = arc.carry + arrival.pending * goes_on
    most = arc.carry + arrival.max_pending * goes_on
    return Arrival(
        arrival.steps + arc.enters,
        arrival.carry_sum + arc.carry,
        arrival.levels,
        arrival.chains + arc.enters,
        max(arrival.carry, chain),
        chain * stored,
        arrival.start,
        arrival.most_levels,
        arrival.most_chains + arc.enters,
        max(arrival.most_carry, most),
        most * stored,
    )


def past_child(arrival: Arrival, child: Arrival) -> Arrival:
    """Return the arrival behind a module below; carry chains never go on between modules."""
    return Arrival(
        arrival.steps + child.steps,
        arrival.carry_sum + child.carry_sum,
        arrival.levels + child.levels,
        arrival.chains + child.chains,
        max(arrival.carry, child.carry),
        0,
        arrival.start,
        arrival.most_levels + child.most_levels,
        arrival.most_chains + child.most_chains,
        max(arrival.most_carry, child.most_carry),
        0,
    )
