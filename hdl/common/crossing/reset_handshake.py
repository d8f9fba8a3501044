"""Makes the two sides of a clock crossing stop, clear and start together: the rule, as functions.

It is a four-phase handshake of request and acknowledge in which either side may ask.
"""

from typing import Any, NamedTuple

Bit = Any  # one that has &, | and ~: Amaranth's values, or NumPy's bools where a model explores it


class Flags(NamedTuple):
    """Holds a side's three registers that the other side reads; they may arrive a cycle apart."""

    request: Bit  #: the other is to stop and clear
    stopped: Bit  #: this side does not run
    cleared: Bit  #: both have stopped, and this side's pointer is zero from the next cycle on


class Side(NamedTuple):
    """Holds all registers of one side of the handshake."""

    wants: Bit  #: it was reset and may not request yet
    flags: Flags


#: at power-up both sides have a request
START = Side(wants=0, flags=Flags(request=1, stopped=1, cleared=0))


def advance(side: Side, remote: Flags, reset: Bit) -> Side:
    """Return the side a cycle later; ``remote`` is what it knows of the other side's flags.

    A side that was ``reset`` raises its request as soon as neither ``cleared`` is high any more,
    its own or the remote one: a flag that still is belongs to an earlier request and would end this
    one before the other side knows of it. The request stays until the reset is over and both have
    cleared. A side with a request, its own or a remote one, stops, and clears while it knows that
    the other has stopped too.
    """
    request, stopped, cleared = side.flags
    wants = side.wants | reset
    begins = wants & ~request & ~cleared & ~remote.cleared
    return Side(
        wants=wants & ~request,
        flags=Flags(
            request=begins | (request & (reset | ~(cleared & remote.cleared))),
            stopped=request | remote.request,
            cleared=stopped & remote.stopped,
        ),
    )


def runs(side: Side, remote: Flags) -> Bit:
    """Return whether the side may move its pointer and trust the other's."""
    request, stopped, cleared = side.flags
    return ~side.wants & ~request & ~stopped & ~cleared & ~remote.stopped
