"""Divides a job between two levels: a leaf for each rack of workers, and spines above them.

A destination's aggregator has the same number, index x P + bank, in every switch, so a sum for
another switch is a PARTIAL of its own number, and no table says where it goes to. In the leaf of
its worker it gets what the rack's other workers send and, if another rack has a neighbour of it,
one PARTIAL of a spine. In another leaf it gets what that rack sends, and goes up. In the spine it
gets the PARTIALs, and goes down. Those of a block that need a spine take turns: the first spine has
the first of them, the second spine the next. A block has at most K destinations, of all racks
together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.switchgnn.planning.preparation import Prepared
from sim.switchgnn.planning.saved import refuse, starts
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.tables import FEATURE, PORT_SHIFT, Tables, with_program

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Levels:
    """Holds the tables of all switches: leaf k is at each spine's port k, spine s at port
    ``up`` + s."""

    up: int  #: the first port of a leaf that leads to a spine; they are its last ones
    workers: Sequence[Ints]  #: for each rack: the workers at port 0, 1, ... of its leaf, ascending
    #: for each leaf: its tables for the workers at its ports; results are those of their vertices
    leaves: Sequence[Tables]
    spines: Sequence[Tables]  #: tables of each spine, which has no workers: no lists and packets

    def with_program(self, shape: SwitchShape, widths: Sequence[int]) -> "Levels":
        """Return the tables for aggregations of other widths, as of a single switch."""
        leaves, spines = (
            [with_program(each, shape, widths) for each in tables]
            for tables in (self.leaves, self.spines)
        )
        return replace(self, leaves=leaves, spines=spines)


def levels(built: Prepared, rack: ArrayLike, ports: int, spines: int = 1) -> Levels:
    """Divide a job between leaves of ``ports`` ports and spines; ``rack`` has one for each worker.

    The same for the same arguments. UserError if ``rack`` is of another length, if there is one
    rack only or one without workers, and for a leaf that has a port too few.
    """
    tables, of_worker = built.tables, np.asarray(rack)
    refuse(
        of_worker.shape != (tables.workers,)
        or of_worker.dtype.kind not in "iu"
        or of_worker.min() < 0,
        f"there must be a rack, a number from 0 on, for each of {tables.workers} workers",
    )
    sizes = np.bincount(of_worker)
    racks = sizes.size
    refuse(
        racks < 2 or not sizes.all(),
        "there are 2 racks or more, and none without workers: "
        + ", ".join(map(str, sizes.tolist())),
    )
    refuse(
        sizes.max() + spines > ports,
        f"rack {sizes.argmax()} has {sizes.max()} workers, and its leaf {ports} ports, of which"
        f" {spines} must lead to spines",
    )
    workers = [np.flatnonzero(of_worker == k) for k in range(racks)]
    expected, home = _contributions(built, of_worker, racks)
    up, spine = ports - spines, _spine_of(tables, expected, home, spines)
    return Levels(
        up=up,
        workers=workers,
        leaves=[_leaf(tables, k, workers[k], up + spine, expected, home) for k in range(racks)],
        spines=[_spine(tables, racks, expected, home, spine == s) for s in range(spines)],
    )


def _contributions(built: Prepared, rack: Ints, racks: int) -> tuple[Ints, Ints]:
    """Count what each rack adds to each aggregator: [racks, descriptor rows, P]; and find its
    owner.

    The rack of an aggregator that is not used is -1: [descriptor rows, P].
    """
    tables, senders, placement = built.tables, built.senders, built.banks
    row = tables.descriptor_first[senders.aggregator_block] + placement.index
    sender, aggregator = senders.additions
    expected = np.zeros((racks, *tables.descriptors.shape), np.int64)
    at = rack[senders.worker[sender]], row[aggregator], placement.bank[aggregator]
    np.add.at(expected, at, 1)
    home = np.full(tables.descriptors.shape, -1, np.int64)
    home[row, placement.bank] = rack[senders.aggregator_worker]
    return expected, home


def _others(expected: Ints, home: Ints) -> Ints:
    """Return which racks add to an aggregator of another rack: [racks, descriptor rows, P]."""
    return (expected > 0) & (home != np.arange(len(expected))[:, None, None])


def _spine_of(tables: Tables, expected: Ints, home: Ints, spines: int) -> Ints:
    """Return the spine of each aggregator, in turn within a block: [descriptor rows, P]."""
    crosses = _others(expected, home).any(0).ravel()
    before = starts(crosses.astype(np.int64))
    first = np.repeat(
        before[tables.descriptor_first[:-1] * tables.banks],
        np.diff(tables.descriptor_first) * tables.banks,
    )
    return ((before[:-1] - first) % spines).reshape(home.shape)


def _leaf(tables: Tables, k: int, workers: Ints, up: Ints, expected: Ints, home: Ints) -> Tables:
    """Return the tables of leaf ``k``: its workers' packets, and the rows that these name."""
    near = home == k
    others = expected.sum(0) > expected[k]
    port = np.zeros(tables.workers, np.int64)
    port[workers] = np.arange(workers.size)
    worker = tables.descriptors.astype(np.int64) >> PORT_SHIFT
    descriptors = _descriptors(expected[k] + (near & others), np.where(near, port[worker], up))
    group = (workers[:, None] * tables.blocks + np.arange(tables.blocks)).ravel()
    packets = _ranges(tables.packet_first[group], tables.packet_first[group + 1])
    rows = np.where(tables.packet_kind == FEATURE, tables.packet_rows, 0)[packets].astype(np.int64)
    first = tables.packet_list[packets].astype(np.int64)
    begins = starts(rows)[:-1]
    listed = tables.packet_kind[packets] == FEATURE
    summands = tables.summand_first[packets], tables.summand_first[packets + 1]
    return Tables(
        workers=workers.size,
        lanes=tables.lanes,
        rows=tables.rows[_ranges(first, first + rows)],
        descriptors=descriptors,
        descriptor_first=tables.descriptor_first,
        program=tables.program,
        widths=tables.widths,
        result_vertex=np.where(near, tables.result_vertex, -1),
        packet_first=starts(tables.packet_first[group + 1] - tables.packet_first[group]),
        packet_kind=tables.packet_kind[packets],
        packet_list=np.where(listed, begins, first).astype(np.uint32),
        packet_rows=tables.packet_rows[packets],
        summand_first=starts(summands[1] - summands[0]),
        summand=tables.summand[_ranges(*summands)],
    )


def _spine(tables: Tables, racks: int, expected: Ints, home: Ints, own: Ints) -> Tables:
    """Return the tables of a spine, with a PARTIAL of each other rack that adds to its ``own``."""
    others = _others(expected, home) & own
    nothing = np.zeros(0, np.int64)
    return Tables(
        workers=racks,
        lanes=tables.lanes,
        rows=np.zeros((0, tables.banks), np.uint16),
        descriptors=_descriptors(others.sum(0), home),
        descriptor_first=tables.descriptor_first,
        program=tables.program,
        widths=tables.widths,
        result_vertex=np.full_like(tables.result_vertex, -1),
        packet_first=np.zeros(racks * tables.blocks + 1, np.int64),
        packet_kind=nothing.astype(np.uint8),
        packet_list=nothing.astype(np.uint32),
        packet_rows=nothing.astype(np.uint16),
        summand_first=np.zeros(1, np.int64),
        summand=nothing,
    )


def _descriptors(expected: Ints, port: Ints) -> NDArray[np.uint32]:
    """Return descriptors: zero where nothing is expected."""
    return np.where(expected > 0, port << PORT_SHIFT | expected, 0).astype(np.uint32)


def _ranges(first: Ints, end: Ints) -> Ints:
    """Return the numbers of all ranges, one after the other."""
    sizes = (end - first).astype(np.int64)
    begin = starts(sizes)
    return np.repeat(first.astype(np.int64) - begin[:-1], sizes) + np.arange(begin[-1])
