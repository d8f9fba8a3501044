"""Models rate control of many endpoints at once: the token bucket of the hardware, by cycles."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

UNIT = 1 << 16  #: tokens of a beat; a rate counts tokens per cycle


@dataclass(frozen=True, kw_only=True)
class RateSettings:
    """Holds what a host sets an endpoint's rate control to."""

    most: int = UNIT  #: tokens a cycle; UNIT is a beat a cycle
    least: int = 256  #: fewest tokens a cycle
    step: int = 1024  #: what the rate grows by after a round trip without a halving
    burst: int = 64  #: beats that may leave at once after a pause
    round_trip: int = 2500  #: cycles


class TokenBuckets:
    """Holds the state of ``count`` token buckets, as in ``hdl.switchgnn.endpoint.token_bucket``.

    Every cycle adds ``rate`` tokens, up to ``burst`` beats' worth; a beat takes UNIT, a cycle after
    it left. A frame may begin while the tokens are not negative. A word of congestion halves the
    rate, at most once a round trip; after each round trip without one the rate grows by ``step``.
    """

    def __init__(self, count: int, settings: RateSettings) -> None:
        self.settings = settings
        self.rate = np.full(count, settings.most)
        self.tokens = np.zeros(count, np.int64)
        self.time = np.zeros(count, np.int64)  #: cycles since the rate was last judged
        self.recent = np.zeros(count, bool)  #: whether it has been halved in this round trip
        self.left = np.zeros(count, bool)  #: whether a beat has left in the cycle before

    @property
    def may_begin(self) -> NDArray[np.bool_]:
        """Return whether a frame may begin in this cycle: [count]."""
        return self.tokens >= 0

    def step(self, congested: NDArray[np.bool_], beat: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Pass a cycle, in which a beat leaves and congestion is heard of; return whose rate is
        halved.

        All three are [count].
        """
        settings, most = self.settings, self.settings.burst * UNIT
        full = (self.tokens >= most) & ~self.left
        self.tokens = np.where(full, most, self.tokens + self.rate - UNIT * self.left)
        self.left = beat.copy()
        over = self.time >= settings.round_trip
        halved = congested & (~self.recent | over)
        grown = np.minimum(self.rate + settings.step, settings.most)
        slower = np.maximum(self.rate >> 1, settings.least)
        self.rate = np.where(halved, slower, np.where(over, grown, self.rate))
        self.recent = halved | (self.recent & ~over)
        self.time = np.where(halved | over, 0, self.time + 1)
        return halved
