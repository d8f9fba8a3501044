"""Makes the tables of the switch and its workers: lists, descriptors, the turn program, packets.

A row of lists has an entry of 16 bits for each bank, bank 0 in the lowest bits: the index in bits 0
to 14, relative to the first aggregator of the job's turn in that bank, and in bit 15 whether the
entry is valid. A descriptor has 32 bits: in bits 0 to 15 the additions that complete its
aggregator, from bit 16 on the port of the result, which has 5 bits where a switch has at most 32
ports, and zeros above. One that expects nothing is unused. Row i of a block's descriptors is for
index i of every bank. The number of an aggregator, in frames, is index x P + bank.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.planning.banks import BankPlacement, rows_of
from sim.switchgnn.planning.cut import CutGraph
from sim.switchgnn.planning.orders import SendOrder
from sim.switchgnn.planning.saved import (
    Int64s,
    Int64Table,
    Saved,
    UInt8s,
    UInt16s,
    UInt16Table,
    UInt32s,
    UInt32Table,
    places,
    refuse,
    starts,
)
from sim.switchgnn.planning.senders import Senders
from sim.switchgnn.planning.shape import ENTRY_INDEX_BITS, STEPS, SwitchShape

VALID = 1 << ENTRY_INDEX_BITS
PORT_SHIFT = 16
MAX_ROWS = (1 << 16) - 1  #: most rows of a list: 16 bits in the frame
FEATURE, PARTIAL = 0, 1

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tables(Saved):
    """Holds a job's tables; worker w is at port w, its block b is group w x blocks + b."""

    schema = "switchgnn.tables/1"

    workers: int  #: M
    lanes: int  #: L
    rows: UInt16Table  #: [rows, P] entries of the lists
    descriptors: UInt32Table  #: [descriptor rows, P]
    #: [blocks + 1]: the first descriptor row of each block, and where the last block's end
    descriptor_first: Int64s
    program: UInt32Table  #: [steps, 2]: block, turns; repeated
    widths: Int64s  #: features of the aggregations of one program
    result_vertex: Int64Table  #: [descriptor rows, P], -1 if unused
    #: [M x blocks + 1]: the first packet of each group, in the order of sending
    packet_first: Int64s
    packet_kind: UInt8s  #: [packets]: FEATURE or PARTIAL
    packet_list: UInt32s  #: first row; a PARTIAL's aggregator
    packet_rows: UInt16s  #: number of the list's rows; 0 of a PARTIAL
    #: [packets + 1]: where each packet's vertices begin in ``summand``
    summand_first: Int64s
    summand: Int64s  #: vertices whose features a packet is the sum of

    @property
    def banks(self) -> int:
        """Return P, the number of banks."""
        return self.rows.shape[1]

    @property
    def blocks(self) -> int:
        """Return the number of blocks."""
        return self.descriptor_first.size - 1

    def check(self) -> None:
        packets = self.packet_kind.size
        refuse(
            self.descriptors.shape[1] != self.banks
            or self.result_vertex.shape != self.descriptors.shape
            or self.packet_first.size != self.workers * self.blocks + 1
            or not packets == self.packet_list.size == self.packet_rows.size
            or self.summand_first.size != packets + 1
            or self.program.shape[1] != 2
            or not _are_bounds(self.descriptor_first, len(self.descriptors))
            or not _are_bounds(self.packet_first, packets)
            or not _are_bounds(self.summand_first, self.summand.size),
            "the tables do not fit together",
        )
        feature = self.packet_kind == FEATURE
        end = self.packet_list[feature].astype(np.int64) + self.packet_rows[feature]
        refuse(end.max(initial=0) > len(self.rows), "a list ends behind the last row")
        refuse((self.program[:, 0] >= self.blocks).any(), "the program names a block too many")


def _are_bounds(result: Ints, end: int) -> bool:
    return bool(
        result.size and result[0] == 0 and result[-1] == end and (np.diff(result) >= 0).all()
    )


def tables(
    cut: CutGraph,
    senders: Senders,
    order: SendOrder,
    placement: BankPlacement,
    shape: SwitchShape,
    widths: Sequence[int],
) -> Tables:
    """Make a job's tables; its program aggregates ``widths`` features, one after another.

    UserError for more workers than ports, and for tables that are larger than the switch's.
    """
    shape.check_workers(cut.workers)
    program = turn_program(senders.blocks, shape, widths)
    rows, first, length = _rows(senders, order, placement)
    refuse(
        len(rows) > shape.rows,
        f"the lists have {len(rows)} rows of {shape.banks} entries, the switch's memory holds"
        f" {shape.rows}; a larger --preset holds more",
    )
    descriptors, result_vertex, descriptor_first = _descriptors(cut, senders, placement)
    refuse(
        len(descriptors) > shape.descriptor_rows,
        f"the blocks have {len(descriptors)} rows of {shape.banks} descriptors, the switch's memory"
        f" holds {shape.descriptor_rows}; a larger --preset holds more",
    )
    refuse(
        length.max() > MAX_ROWS,
        f"a list has {length.max()} rows, a frame says {MAX_ROWS} at most",
    )
    group = senders.worker[order.sequence].astype(np.int64) * senders.blocks
    group += senders.block[order.sequence]
    packets = order.sequence[np.argsort(group, kind="stable")]
    summand_first, summand = _summands(cut, senders, packets)
    return Tables(
        workers=cut.workers,
        lanes=shape.lanes,
        rows=rows,
        descriptors=descriptors,
        descriptor_first=descriptor_first,
        program=program,
        widths=np.array(widths, np.int64),
        result_vertex=result_vertex,
        packet_first=starts(np.bincount(group, minlength=cut.workers * senders.blocks)),
        packet_kind=np.where(senders.partial, PARTIAL, FEATURE).astype(np.uint8)[packets],
        packet_list=first[packets].astype(np.uint32),
        packet_rows=length[packets].astype(np.uint16),
        summand_first=summand_first,
        summand=summand,
    )


def with_program(built: Tables, shape: SwitchShape, widths: Sequence[int]) -> Tables:
    """Return the tables for aggregations of other widths: only the turn program depends on them."""
    program = turn_program(built.blocks, shape, widths)
    return replace(built, program=program, widths=np.array(widths, np.int64))


def turn_program(blocks: int, shape: SwitchShape, widths: Sequence[int]) -> NDArray[np.uint32]:
    """Return steps of a block and its turns, one for each slice: [steps, 2].

    An aggregation does all slices of a block, then the next block. Steps of the same block in a row
    are one. UserError for over 256 steps, and for widths that are none.
    """
    refuse(not widths or min(widths) < 1, "an aggregation has at least 1 feature")
    steps: list[list[int]] = []
    for width in widths:
        for block in range(blocks):
            slices = -(-width // shape.lanes)
            if steps and steps[-1][0] == block:
                steps[-1][1] += slices
            else:
                steps.append([block, slices])
    refuse(
        len(steps) > STEPS,
        f"{blocks} blocks in {len(widths)} aggregations are {len(steps)} steps, a turn program has"
        f" {STEPS}",
    )
    return np.array(steps, np.uint32)


def _rows(
    senders: Senders, order: SendOrder, placement: BankPlacement
) -> tuple[NDArray[np.uint16], Ints, Ints]:
    """Return the rows of all lists, in sending order, and each sender's first one and count.

    A PARTIAL has no list: its first one is the number of its aggregator, index x P + bank.
    """
    sender, aggregator = senders.additions
    length = np.where(senders.partial, 0, rows_of(senders, placement))
    first = np.empty(senders.count, np.int64)
    ends = np.cumsum(length[order.sequence])
    first[order.sequence] = ends - length[order.sequence]
    rows = np.zeros((int(ends[-1]), placement.banks), np.uint16)
    bank, index = placement.bank[aggregator], placement.index[aggregator]
    listed = ~senders.partial[sender]
    column = places(sender * placement.banks + bank)
    rows[(first[sender] + column)[listed], bank[listed]] = VALID | index[listed]
    first[sender[~listed]] = index[~listed].astype(np.int64) * placement.banks + bank[~listed]
    return rows, first, length


def _descriptors(
    cut: CutGraph, senders: Senders, placement: BankPlacement
) -> tuple[NDArray[np.uint32], Ints, Ints]:
    """Return descriptors of all blocks, the vertices of the results, and each block's first row."""
    block = senders.aggregator_block
    height = np.zeros(senders.blocks, np.int64)
    np.maximum.at(height, block, placement.index + 1)
    first = starts(height)
    at = first[block] + placement.index, placement.bank
    descriptors = np.zeros((int(first[-1]), placement.banks), np.uint32)
    port = senders.aggregator_worker.astype(np.int64) << PORT_SHIFT
    descriptors[at] = senders.expected | port
    result_vertex = np.full(descriptors.shape, -1, np.int64)
    result_vertex[at] = cut.vertices[senders.aggregator_vertex]
    return descriptors, result_vertex, first


def _summands(cut: CutGraph, senders: Senders, packets: Ints) -> tuple[Ints, Ints]:
    """Return the vertices that each packet is the sum of: one of a FEATURE."""
    pairs = np.unique(senders.sender.astype(np.int64) * cut.n + cut.sources)
    first = starts(np.bincount(pairs // cut.n, minlength=senders.count))
    sizes = np.diff(first)[packets]
    begin = starts(sizes)
    at = np.repeat(first[packets] - begin[:-1], sizes) + np.arange(begin[-1])
    return begin, cut.vertices[pairs[at] % cut.n]
