"""Chooses what workers add up themselves, and where, so that few cycles bound a plan's turns.

A switch adds a row a cycle and its ports carry frames meanwhile: a block takes the longer of both.
A sum that a worker makes of its own features saves their additions, but is a longer frame, and has
a row. Copies of aggregators shorten lists, but each is a further result.
"""

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.evaluation.frames import BEAT, LINK, FrameSizes, traffic_of
from sim.switchgnn.planning.banks import BankPlacement, packed, placed, rows_of, shortest_lists
from sim.switchgnn.planning.cut import CutGraph
from sim.switchgnn.planning.plan import Plan
from sim.switchgnn.planning.senders import Senders, senders_of
from sim.switchgnn.planning.shape import SwitchShape

#: Fewest features of a worker that it adds up for a destination, as they are tried; 0: none.
THETAS = (0, 64, 32, 24, 16, 12, 10, 8, 6)

Ints = NDArray[np.int64]


def quickest(cut: CutGraph, plan: Plan, shape: SwitchShape) -> tuple[Senders, BankPlacement]:
    """Return the senders and places of a plan that few cycles bound.

    Where rows bind no block, they are those without partial sums and copies.
    """
    sizes = cut.workers, shape.lanes
    tried = (senders_of(cut, plan, theta) for theta in THETAS)
    senders = min(tried, key=lambda s: bound_cycles(s, shortest_lists(s, shape.banks), *sizes))
    choices = (senders, placed(senders, shape)), packed(senders, shape)
    return min(choices, key=lambda each: bound_cycles(each[0], rows_of(*each), *sizes))


def bound_cycles(senders: Senders, rows: Ints, workers: int, lanes: int) -> int:
    """Return the cycles that bound a slice of all blocks, by rows or by the busiest port's beats.

    ``rows`` are those of each sender; links have 100 Gb/s.
    """
    of_block = np.bincount(senders.block, rows, minlength=senders.blocks)
    ports = traffic_of(senders, workers).of_blocks(FrameSizes.of(lanes)) / BEAT / LINK
    return int(np.maximum(of_block, ports).sum())
