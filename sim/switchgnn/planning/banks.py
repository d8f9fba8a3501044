"""Chooses the bank that each aggregator of a block lies in, for few rows of lists.

A sender's list takes as many rows as the bank that most of its aggregators lie in has of them.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sim.switchgnn.planning.saved import Int32s, Saved, places, refuse, starts
from sim.switchgnn.planning.senders import Senders
from sim.switchgnn.planning.shape import SwitchShape

PASSES = 3

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
    """Place aggregators greedily, one after the other, ``passes`` times over.

    Each goes to the bank with room where it lengthens the longest columns of the fewest senders;
    of equal ones to that with the shortest columns, then to the emptiest.
    """
    sender, aggregator = senders.additions
    to = csr_array(
        (np.ones(sender.size, np.int8), (aggregator, sender)), (senders.aggregators, senders.count)
    )
    columns = np.zeros((senders.count, shape.banks), np.int32)
    bank = np.full(senders.aggregators, -1, np.int32)
    bounds = starts(np.bincount(senders.aggregator_block, minlength=senders.blocks))
    for low, high in pairwise(bounds.tolist()):
        _place_block(to, columns, bank, range(low, high), shape.turn_depth, passes)
    return _with_indices(senders, bank, shape)


def _place_block(
    to: csr_array,
    columns: NDArray[np.int32],
    bank: NDArray[np.int32],
    block: range,
    depth: int,
    passes: int,
) -> None:
    """Place the aggregators of ``block``: set their ``bank``, count their senders' columns."""
    used = np.zeros(columns.shape[1], np.int64)
    heaviest = np.argsort(-np.diff(to.indptr[block.start : block.stop + 1]), kind="stable")
    for _ in range(passes):
        for aggregator in (heaviest + block.start).tolist():
            near = to.indices[to.indptr[aggregator] : to.indptr[aggregator + 1]]
            lengths = columns[near]
            before = bank[aggregator]
            if before >= 0:
                lengths[:, before] -= 1
                used[before] -= 1
            grows = (lengths == lengths.max(1, keepdims=True)).sum(0)
            full = used >= depth
            best = int(np.lexsort((used, lengths.sum(0), grows, full))[0])
            lengths[:, best] += 1
            columns[near] = lengths
            bank[aggregator] = best
            used[best] += 1


def placed_at_random(senders: Senders, shape: SwitchShape, seed: int = 1) -> BankPlacement:
    """Choose banks in a random order, each as often as any other in a block."""
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(senders.aggregators), senders.aggregator_block))
    bank = np.empty(senders.aggregators, np.int32)
    sizes = np.bincount(senders.aggregator_block, minlength=senders.blocks)
    bank[order] = np.concatenate([np.arange(size) % shape.banks for size in sizes])
    return _with_indices(senders, bank, shape)


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


def least_rows(senders: Senders, banks: int) -> int:
    """Return a lower bound of all rows: the sum over senders of ceil(additions / P)."""
    additions = np.bincount(senders.additions[0], minlength=senders.count)
    return int((-(-additions // banks)).sum())
