"""Finds how long a block takes and how results queue up, when packets move in slots (3.2.1)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.planning.saved import places
from sim.switchgnn.planning.senders import Senders

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Drained:
    """Says what becomes of a block if each port moves one packet in and one out in a slot."""

    slots: int  #: slots until the last result has left
    bound: int  #: the most packets that one port sends, or receives
    longest_queue: int  #: results that wait at the end of a slot, over all ports
    max_aggregators: int  #: aggregators that hold an unfinished sum at the end of a slot


@dataclass(frozen=True, kw_only=True, eq=False)
class Passage:
    """Says when a block's packets move through a switch, in slots; ports by packet."""

    entry: NDArray[np.integer]  #: [senders of the block], ports
    leaving: NDArray[np.integer]  #: [aggregators of the block], ports
    taken: Ints  #: [aggregators of the block]: its first packet comes
    complete: Ints  #: [aggregators of the block]: its last packet comes
    left: Ints  #: [aggregators of the block]: its result leaves


def passage(senders: Senders, sequence: Ints, block: int = 0, *, one_link: bool = False) -> Passage:
    """Evaluate equations 3 to 6, with a port for each worker, which sends a packet of its list a
    slot.

    A packet completes the aggregators that miss nothing else. Their results leave their ports, one
    a slot and port, from the same slot on. With ``one_link`` all packets share one port in and one
    out: k = 1 of the equations.
    """
    own = sequence[senders.block[sequence] == block]
    near = np.flatnonzero(senders.aggregator_block == block)
    entry, leaving = senders.worker[own], senders.aggregator_worker[near]
    if one_link:
        entry, leaving = np.zeros_like(entry), np.zeros_like(leaving)
    slot = np.zeros(senders.count, np.int64)
    slot[own] = places(entry)
    sender, aggregator = senders.additions
    of_block = senders.aggregator_block[aggregator] == block
    complete = np.zeros(senders.aggregators, np.int64)
    np.maximum.at(complete, aggregator[of_block], slot[sender[of_block]])
    taken = np.full(senders.aggregators, np.iinfo(np.int64).max)
    np.minimum.at(taken, aggregator[of_block], slot[sender[of_block]])
    return Passage(
        entry=entry,
        leaving=leaving,
        taken=taken[near],
        complete=complete[near],
        left=departures(complete[near], leaving),
    )


def drained(senders: Senders, sequence: Ints, block: int = 0, *, one_link: bool = False) -> Drained:
    """Return what becomes of a block, as :func:`passage` finds it."""
    built = passage(senders, sequence, block, one_link=one_link)
    return Drained(
        slots=int(built.left.max()) + 1,
        bound=int(max(np.bincount(built.entry).max(), np.bincount(built.leaving).max())),
        longest_queue=int(inside(built.complete, built.left).max()),
        max_aggregators=int(inside(built.taken, built.complete).max()),
    )


def departures(complete: Ints, port: NDArray[np.integer]) -> Ints:
    """Return the slot in which each result leaves its port: once complete, one a slot."""
    order = np.lexsort((complete, port))
    place = places(port[order])
    group = np.unique(port[order], return_inverse=True)[1]
    # Within a port: the largest of complete - place so far; ports are kept apart by an offset.
    apart = np.int64(complete.max() + complete.size + 1) * group
    latest = np.maximum.accumulate(complete[order] - place + apart) - apart
    left = np.empty(complete.size, np.int64)
    left[order] = latest + place
    return left


def inside(come: Ints, gone: Ints) -> Ints:
    """Count those that have come and not gone at the end of each slot, until the last has gone."""
    slots = int(gone.max(initial=-1)) + 1
    return np.cumsum(np.bincount(come, minlength=slots) - np.bincount(gone, minlength=slots))
