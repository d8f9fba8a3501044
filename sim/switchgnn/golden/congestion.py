"""Says whose frames a congested switch marks, and how the workers that hear of it slow down.

The paper (3.4, 4): a packet is marked (ECN) when the switch's queue is longer than a threshold; a
sender that gets a mark halves its rate; without congestion, the rate grows additively; as DCQCN
(Zhu et al., SIGCOMM 2015). It leaves open which queue, which packet and which sender are meant,
since a sum has many senders and a feature many receivers. Here they are:

- **Mark.** A frame is marked if more than ``level`` beats wait in its queue: a RESULT or RAW by the
  queue that it enters, an ACK by any queue on the path of what it acknowledges. These are the
  queue of its worker's port on the way in, and those on the way out at all ports of its job, since
  a worker's features become parts of sums at all of them. A level of 0 switches marking off.
- **Sender.** A mark in an ACK slows its worker down. One in a RESULT or RAW is counted and slows
  nobody: it is of the queue towards that worker, which is filled by what the others send. So that
  queue's marks reach these, by their ACKs. Since all of them hear it, their rates become alike:
  halving halves their differences, and growing leaves them as they are (Chiu and Jain, 1989).
- **Two levels.** A marked ACK of another switch marks the next ACK of each other port of its job
  that does not lead above, once, however many such marks have come since that port's last ACK. So
  workers hear of a spine's queues, and of another leaf's through the spine, as their features pass
  through these, too. What has come from above never goes up: two spines would keep it for ever.
- **Rate.** It is halved at most once a round trip, as what was sent before a halving is marked,
  too, and not below ``least``. It grows by ``step`` after each round trip without a halving.
- **How low.** Below half of the rate at which its list lasts as long as the busiest port needs for
  the turn, a worker only loses time: with equal weights, others have no more than half of a port
  (:func:`least_rates`). Without such a bound, whoever sends to many receivers sends at the rate of
  the slowest (Bhattacharyya, Towsley, Kurose: The loss path multiplicity problem, INFOCOM 1999).
- **How fast.** A queue that was as long as its level does not run empty while a halved rate grows
  back: the rate is too low for UNIT / (2 step) round trips, by a quarter of a beat a cycle on
  average (:func:`step_of`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

UNIT = 1 << 16  #: tokens of a beat; a rate counts tokens per cycle


def hears(port: int, ports: int, entering: int, leaving: int, passed: int = 0) -> bool:
    """Return whether an ACK for what is behind ``port``, of a job with ``ports``, is marked.

    ``ports``, those whose queues on the way in and on the way out are congested, and those to which
    a mark of another switch is still to be ``passed`` on, are bitmaps.
    """
    return bool((entering | passed) >> port & 1 or leaving & ports)


def least_rates(sent: Ints, received: Ints) -> Ints:
    """Return the lowest rate of each worker: [workers].

    Both are beats, or bytes, [blocks, workers]: what each worker sends and receives in a turn of
    each block. So may links between switches be, as one of them may be the busiest.
    """
    busiest = np.maximum(sent, received).max(axis=1).sum()
    return np.maximum(1, UNIT * sent.sum(axis=0) // (2 * max(1, busiest)))


def step_of(round_trip: int, level: int) -> int:
    """Return the growth of a rate, for a round trip in cycles and a level in beats."""
    return max(1, min(UNIT // 2, UNIT * round_trip // (8 * level)))


@dataclass(frozen=True, kw_only=True)
class RateSettings:
    """Holds what a host sets an endpoint's rate control to."""

    enabled: bool = True  #: frames wait for tokens, and marks are heard
    most: int = UNIT  #: tokens a cycle; UNIT is a beat a cycle
    least: int | Ints = 256  #: fewest tokens a cycle, of all workers or of each
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

    @property
    def over(self) -> NDArray[np.bool_]:
        """Return whose round trip is over: [count]."""
        return self.time >= self.settings.round_trip

    def halves(self, congested: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whose rate is halved in this cycle by the congestion that they hear of."""
        return congested.astype(bool) & (~self.recent | self.over) & self.settings.enabled

    def step(self, congested: NDArray[np.bool_], beat: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Pass a cycle, in which a beat leaves and congestion is heard of; return whose rate is
        halved.

        All three are [count].
        """
        settings, most = self.settings, self.settings.burst * UNIT
        full = (self.tokens >= most) & ~self.left
        tokens = np.where(full, most, self.tokens + self.rate - UNIT * self.left)
        self.tokens = tokens * settings.enabled
        self.left = beat.astype(bool)
        over, halved = self.over, self.halves(congested)
        grown = np.minimum(self.rate + settings.step, settings.most)
        slower = np.maximum(self.rate >> 1, settings.least)
        self.rate = np.where(halved, slower, np.where(over, grown, self.rate))
        self.recent = halved | (self.recent & ~over)
        self.time = np.where(halved | over, 0, self.time + 1)
        return halved
