"""How the two sides of a clock crossing stop, clear and start together: the rule, as functions."""

from typing import Any, NamedTuple

Bit = Any  # one that has &, | and ~: Amaranth's values, or NumPy's bools where a model explores it


class Told(NamedTuple):
    """What a side tells the other, three registers: levels that may arrive a cycle apart."""

    asks: Bit  #: the other is to stop and clear
    stopped: Bit  #: this side does not run
    cleared: Bit  #: both have stopped, and this side's pointer is zero from the next cycle on


class Side(NamedTuple):
    """The registers of a side."""

    wants: Bit  #: it was reset and may not ask yet
    told: Told


#: at power-up both sides ask
START = Side(wants=0, told=Told(asks=1, stopped=1, cleared=0))


def advance(side: Side, heard: Told, reset: Bit) -> Side:
    """The side a cycle later; ``heard`` is what it knows of the other, ``reset`` its own reset.

    A side that was reset asks as soon as neither ``cleared`` is high any more, own or heard: one
    that still is belongs to an earlier ask and would end this one before the other knows of it.
    It goes on asking until its reset is over and both have cleared. A side that asks or is asked
    stops, and clears while it knows that the other has stopped too.
    """
    asks, stopped, cleared = side.told
    wants = side.wants | reset
    begins = wants & ~asks & ~cleared & ~heard.cleared
    return Side(
        wants=wants & ~asks,
        told=Told(
            asks=begins | (asks & (reset | ~(cleared & heard.cleared))),
            stopped=asks | heard.asks,
            cleared=stopped & heard.stopped,
        ),
    )


def runs(side: Side, heard: Told) -> Bit:
    """Whether the side may move its pointer and trust the other's."""
    asks, stopped, cleared = side.told
    return ~side.wants & ~asks & ~stopped & ~cleared & ~heard.stopped
