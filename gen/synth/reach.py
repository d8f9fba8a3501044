"""How far a bit is from a register, and what one more arc adds to it."""

from typing import NamedTuple

from gen.synth.arcs import Arc

PATH = 7  #: fields of a Reach that belong to its worst path


class Reach(NamedTuple):
    """The worst way from a register to a bit, and the most of each kind on any way there.

    The order of the fields decides which of two ways is worse.
    """

    steps: int  #: levels + chains
    carry_sum: int  #: bits of all chains on the way
    levels: int  #: of LUTs
    chains: int  #: of carry
    carry: int  #: bits of the longest chain on the way
    pending: int  #: bits of the chain that the bit is in
    start: str  #: the register's name
    most_levels: int
    most_chains: int
    most_carry: int
    most_pending: int


class Way(NamedTuple):
    """An arc of a graph, listed at the bit it leads to."""

    source: int
    arc: Arc | None  #: through a primitive
    child: Reach | None = None  #: or through a module below


def begin(name: str, levels: int = 0) -> Reach:
    """At a register, or ``levels`` behind it."""
    return Reach(levels, 0, levels, 0, 0, 0, name, levels, 0, 0, 0)


def join(one: Reach, other: Reach) -> Reach:
    """The worse path of two, and the most of each."""
    worse, better = (one, other) if one >= other else (other, one)
    most, rest = worse[PATH:], better[PATH:]
    if most == rest or most == (both := tuple(map(max, most, rest))):
        return worse
    return Reach(*worse[:PATH], *both)


def advance(reach: Reach, way: Way, backward: bool = False) -> Reach:
    """``reach`` behind one more arc; ``backward``, an arc in front of it."""
    if way.child is not None:
        return past_child(reach, way.child)
    arc = way.arc
    assert arc is not None
    levels = arc.levels
    if not arc.carry:
        return Reach(
            reach.steps + levels,
            reach.carry_sum,
            reach.levels + levels,
            reach.chains,
            reach.carry,
            0,
            reach.start,
            reach.most_levels + levels,
            reach.most_chains,
            reach.most_carry,
            0,
        )
    # The arc that enters is the first of a chain: forward nothing comes before it, and backward
    # nothing will come after it.
    goes_on = backward or not arc.enters
    kept = not (backward and arc.enters)
    chain = arc.carry + reach.pending * goes_on
    most = arc.carry + reach.most_pending * goes_on
    return Reach(
        reach.steps + arc.enters,
        reach.carry_sum + arc.carry,
        reach.levels,
        reach.chains + arc.enters,
        max(reach.carry, chain),
        chain * kept,
        reach.start,
        reach.most_levels,
        reach.most_chains + arc.enters,
        max(reach.most_carry, most),
        most * kept,
    )


def past_child(reach: Reach, child: Reach) -> Reach:
    """Through a module below; no chain goes on from one module to another."""
    return Reach(
        reach.steps + child.steps,
        reach.carry_sum + child.carry_sum,
        reach.levels + child.levels,
        reach.chains + child.chains,
        max(reach.carry, child.carry),
        0,
        reach.start,
        reach.most_levels + child.most_levels,
        reach.most_chains + child.most_chains,
        max(reach.most_carry, child.most_carry),
        0,
    )
