"""How long a block takes and how results queue up, when packets move in slots (section 3.2.1)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.planning.saved import places
from sim.switchgnn.planning.senders import Senders

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Drained:
    """What becomes of a block if each port moves one packet in and one out in a slot."""

    slots: int  #: until the last result has left
    bound: int  #: the most packets that one port sends, or receives
    longest_queue: int  #: results that wait at the end of a slot, over all ports
    most_aggregators: int  #: aggregators that hold an unfinished sum at the end of a slot


def drained(senders: Senders, sequence: Ints, block: int = 0, *, one_link: bool = False) -> Drained:
    """Equations 3 to 6, with a port for each worker: in a slot each sends a packet of its list.

    A packet completes the aggregators that miss nothing else. Their results leave their ports, one
    a slot and port, from the same slot on. With ``one_link`` all packets share one port in and one
    out: k = 1 of the equations.
    """
    mine = sequence[senders.block[sequence] == block]
    here = np.flatnonzero(senders.aggregator_block == block)
    entry, leaving = senders.worker[mine], senders.aggregator_worker[here]
    if one_link:
        entry, leaving = np.zeros_like(entry), np.zeros_like(leaving)
    slot = np.zeros(senders.count, np.int64)
    slot[mine] = places(entry)
    sender, aggregator = senders.additions
    of_block = senders.aggregator_block[aggregator] == block
    complete = np.zeros(senders.aggregators, np.int64)
    np.maximum.at(complete, aggregator[of_block], slot[sender[of_block]])
    taken = np.full(senders.aggregators, np.iinfo(np.int64).max)
    np.minimum.at(taken, aggregator[of_block], slot[sender[of_block]])
    left = departures(complete[here], leaving)
    return Drained(
        slots=int(left.max()) + 1,
        bound=int(max(np.bincount(entry).max(), np.bincount(leaving).max())),
        longest_queue=_most_inside(complete[here], left),
        most_aggregators=_most_inside(taken[here], complete[here]),
    )


def departures(complete: Ints, port: NDArray[np.integer]) -> Ints:
    """The slot in which each result leaves its port: not before it is complete, one a slot."""
    order = np.lexsort((complete, port))
    place = places(port[order])
    group = np.unique(port[order], return_inverse=True)[1]
    # Within a port: the largest of complete - place so far; ports are kept apart by an offset.
    apart = np.int64(complete.max() + complete.size + 1) * group
    latest = np.maximum.accumulate(complete[order] - place + apart) - apart
    left = np.empty(complete.size, np.int64)
    left[order] = latest + place
    return left


def _most_inside(come: Ints, gone: Ints) -> int:
    """The most that have come and not gone at the end of a slot."""
    slots = int(gone.max()) + 1
    inside = np.bincount(come, minlength=slots) - np.bincount(gone, minlength=slots)
    return int(np.cumsum(inside).max())
