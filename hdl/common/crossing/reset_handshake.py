"""Defines how the two sides of a clock crossing stop, clear and start together, as functions.

It is a four-phase handshake of request and acknowledge, which either side may start.
"""

from typing import Any, NamedTuple

Bit = Any  # a type with &, | and ~: Amaranth's values, or NumPy's bools in a model


class Flags(NamedTuple):
    """Holds a side's three registers that the other reads; they may arrive a cycle apart."""

    request: Bit  #: the other side must stop and clear
    stopped: Bit  #: this side does not run
    cleared: Bit  #: both sides have stopped, and this side's pointer is zero from the next cycle on


class Side(NamedTuple):
    """Holds all registers of one side of the handshake."""

    needs: Bit  #: it was reset and may not request yet
    flags: Flags


#: at power-up both sides have a request
START = Side(needs=0, flags=Flags(request=1, stopped=1, cleared=0))


def advance(side: Side, remote: Flags, reset: Bit) -> Side:
    """Return the side a cycle later; ``remote`` are the other side's flags as this side sees them.

    A side that was ``reset`` raises its request as soon as both ``cleared`` flags, its own and the
    remote one, are low: a flag that is still high belongs to an earlier request, and would end this
    one before the other side has seen it. The request stays high until the reset is over and both
    sides have cleared. A side stops while there is a request, its own or a remote one, and clears
    while it sees that the other side has stopped, too.
    """
    request, stopped, cleared = side.flags
    needs = side.needs | reset
    begins = needs & ~request & ~cleared & ~remote.cleared
    return Side(
        needs=needs & ~request,
        flags=Flags(
            request=begins | (request & (reset | ~(cleared & remote.cleared))),
            stopped=request | remote.request,
            cleared=stopped & remote.stopped,
        ),
    )


def runs(side: Side, remote: Flags) -> Bit:
    """Return whether the side may move its pointer and trust the other's."""
    request, stopped, cleared = side.flags
    return ~side.needs & ~request & ~stopped & ~cleared & ~remote.stopped
