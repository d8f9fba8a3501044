"""Chooses the bank that each aggregator of a block lies in, for few rows of lists.

A sender's list takes as many rows as the bank that most of its aggregators lie in has of them.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.planning.saved import Int32s, Saved, places, refuse, starts
from sim.switchgnn.planning.senders import Senders
from sim.switchgnn.planning.shape import SwitchShape

PASSES = 3
COPIES = 4  #: aggregators of a busy destination
BUSY = 40  #: of so many destinations of a block one is busy
FULL = 1e30  #: cost of a bank without room
TIE = 1e-9  #: cost of an aggregator that a bank has

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class BankPlacement(Saved):
    """Holds the place of each aggregator: a bank, and an index unique in bank and block."""

    schema = "switchgnn.banks/1"

    banks: int  #: P
    bank: Int32s  #: [aggregators], 0..P-1
    index: Int32s  #: [aggregators]

    def check(self) -> None:
        refuse(
            self.bank.size != self.index.size
            or (self.bank < 0).any()
            or (self.bank >= self.banks).any()
            or (self.index < 0).any(),
            "the banks and indices of a placement do not fit together",
        )


def placed(senders: Senders, shape: SwitchShape, passes: int = PASSES) -> BankPlacement:
    """Place aggregators one after the other, ``passes`` times over: see :func:`packed`."""
    return packed(senders, shape, copies=1, passes=passes)[1]


def packed(
    senders: Senders, shape: SwitchShape, *, copies: int = COPIES, passes: int = PASSES
) -> tuple[Senders, BankPlacement]:
    """Place aggregators, and give the busiest destinations up to ``copies`` in different banks.

    Each sender is added to one of the copies, which all leave as sums of that destination: its
    worker adds them. Lists take fewer rows, since a sender's can be chosen to be in a bank that
    the list names seldom. A block has as many copies as there is room for.

    Each aggregator goes to the banks with room where the columns of its senders' lists are long
    least, weighed by e for each entry beyond the list's shortest length. Busy ones come last.
    """
    sender, aggregator = senders.additions
    order = np.argsort(aggregator, kind="stable")
    near, first = sender[order], starts(senders.expected)
    columns = np.zeros((senders.count, shape.banks), np.int32)
    shortest = shortest_lists(senders, shape.banks)
    bank = np.full(sender.size, -1, np.int32)  # of each addition, in ``order``

    def choose(near: Ints, bank: NDArray[np.int32], used: Ints, most: int) -> None:
        """Set the bank of each addition to an aggregator, and count it, in place of the last."""
        each, lengths = np.arange(near.size), columns[near]
        if bank[0] >= 0:
            lengths[each, bank] -= 1
            used -= np.bincount(bank, minlength=used.size) > 0
        cost = np.exp(lengths - (shortest[near][:, None] - 1.0))
        cost[:, used >= shape.turn_depth] = FULL
        emptier = TIE * used
        banks = [int((cost.sum(0) + emptier).argmin())]
        for _ in range(1, min(most, used.size)):
            least = cost[:, banks].min(1, keepdims=True)
            banks.append(int((np.minimum(least, cost).sum(0) + emptier).argmin()))
        bank[:] = np.array(banks)[cost[:, banks].argmin(1)]
        lengths[each, bank] += 1
        columns[near] = lengths
        used += np.bincount(bank, minlength=used.size) > 0

    bounds = starts(np.bincount(senders.aggregator_block, minlength=senders.blocks))
    for low, high in pairwise(bounds.tolist()):
        by_degree = low + np.argsort(-senders.expected[low:high], kind="stable")
        busy = min((high - low) // BUSY, (shape.aggregators - high + low) // max(1, copies - 1))
        busy *= copies > 1
        sequence = [(each, 1) for each in by_degree[busy:].tolist()]
        sequence += [(each, copies) for each in by_degree[:busy][::-1].tolist()]
        used = np.zeros(shape.banks, np.int64)
        for each, most in passes * sequence:
            span = slice(first[each], first[each + 1])
            choose(near[span], bank[span], used, most)
    keys, which = np.unique(aggregator[order] * shape.banks + bank, return_inverse=True)
    result = _with_copies(senders, keys // shape.banks, order, which)
    return result, _with_indices(result, (keys % shape.banks).astype(np.int32), shape)


def _with_copies(senders: Senders, original: Ints, order: Ints, which: Ints) -> Senders:
    """Return the senders with copies of aggregators: ``which`` each addition in ``order`` has."""
    of_addition = np.empty(order.size, np.int32)
    of_addition[order] = which
    sender, aggregator = senders.additions
    keys = sender * senders.aggregators + aggregator
    edges = senders.sender.astype(np.int64) * senders.aggregators + senders.aggregator
    return replace(
        senders,
        aggregator=of_addition[np.searchsorted(keys, edges)],
        aggregator_block=senders.aggregator_block[original],
        aggregator_vertex=senders.aggregator_vertex[original],
        aggregator_worker=senders.aggregator_worker[original],
    )


def _with_indices(senders: Senders, bank: NDArray[np.int32], shape: SwitchShape) -> BankPlacement:
    """Number the aggregators of a block in each bank, from 0 on."""
    group = senders.aggregator_block.astype(np.int64) * shape.banks + bank
    index = places(group).astype(np.int32)
    refuse(
        index.max() >= shape.turn_depth,
        f"a bank of {shape.turn_depth} aggregators a turn cannot hold {int(index.max()) + 1}",
    )
    return BankPlacement(banks=shape.banks, bank=bank, index=index)


def rows_of(senders: Senders, placement: BankPlacement) -> Ints:
    """Return the number of rows of each sender's list: [senders]."""
    sender, aggregator = senders.additions
    column = sender * placement.banks + placement.bank[aggregator]
    lengths = np.bincount(column, minlength=senders.count * placement.banks)
    return lengths.reshape(senders.count, placement.banks).max(1)


def shortest_lists(senders: Senders, banks: int) -> Ints:
    """Return a lower bound of the rows of each sender's list: ceil(additions / P), [senders]."""
    return -(-np.bincount(senders.additions[0], minlength=senders.count) // banks)


def least_rows(senders: Senders, banks: int) -> int:
    """Return a lower bound of all rows."""
    return int(shortest_lists(senders, banks).sum())
