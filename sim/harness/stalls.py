"""Says in which cycles a side of a stream pauses."""

import random
from collections.abc import Callable
from enum import Enum

__all__ = [
    "CHANCES",
    "STALLS",
    "Stall",
    "Stalls",
    "always",
    "mostly",
    "never",
    "often",
    "rarely",
]

Stall = Callable[[], bool]  #: function that says in every cycle whether to pause


def never() -> bool:
    """Never pause: the stream is busy every cycle."""
    return False


def often() -> bool:
    """Pause in half of all cycles, at random."""
    return random.random() < 0.5


def mostly() -> bool:
    """Pause in four cycles of five, at random."""
    return random.random() < 0.8


def rarely() -> bool:
    """Pause in one cycle of twenty, at random."""
    return random.random() < 0.05


def always() -> bool:
    """Pause in each cycle."""
    return True


#: share of the cycles in which these pause; any other function is asked in each cycle
CHANCES: dict[Stall, float] = {never: 0.0, often: 0.5, mostly: 0.8, rarely: 0.05, always: 1.0}


class Stalls(Enum):
    """Says which side pauses: ``source, sink = stalls``."""

    NONE = (never, never)
    BUSY_SOURCE = (often, rarely)
    BUSY_SINK = (rarely, often)

    def __iter__(self):
        return iter(self.value)

    @property
    def absent(self) -> bool:
        """Return whether nobody pauses, so that cycles can be asserted."""
        return self is Stalls.NONE


STALLS = list(Stalls)  #: for ``@cocotb.parametrize(stalls=STALLS)``
