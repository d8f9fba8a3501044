"""Describes how a job of the switch is set up: sizes, blocks, the turn program, rows of lists."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from sim.switchgnn.golden.frames import Frame, Kind

Row = Sequence[int | None]  # an index for each bank, None where nothing is added


class Step(NamedTuple):
    """Describes a step of a turn program: a number of turns with the same block."""

    block: int
    turns: int


@dataclass(frozen=True)
class Descriptor:
    """Holds what an aggregator is loaded with for a block."""

    expected: int  # contributions that make its sum complete, at least 1
    port: int  # that the sum leaves by: as RESULT, or as PARTIAL where a switch is behind it
    target: int = 0  # of a PARTIAL: the aggregator of the switch behind the port


class Cause(StrEnum):
    """Names why a contribution that a list asks for is not added."""

    NO_SUCH_ROW = "no such row"  # behind the memory of lists
    OUTSIDE = "outside"  # not an aggregator of the job's region
    UNUSED = "unused"  # an aggregator that the block has no destination for
    COMPLETE = "complete"  # its sum has all its contributions


class TableError(NamedTuple):
    """Describes a contribution that is not added."""

    cause: Cause
    turn: int
    row: int  # of a FEATURE; of a PARTIAL: 0
    aggregator: int  # as the list has it; 0 if there is no such row


@dataclass(frozen=True, kw_only=True)
class JobSetup:
    """Describes a job as its host starts it.

    Aggregators are numbered within the job's region of every bank: index x banks + bank. If two
    turns are open, the even ones have the first half of the region and the odd ones the second;
    lists and descriptors are numbered within a half.
    """

    ports: int  # bitmap: workers and other switches
    banks: int
    depth: int  # aggregators of a turn in each bank
    window: int  # W: frames that a sender may be ahead of the oldest one that has not arrived
    open_turns: int = 1  # at a time, 1 or 2
    ack_every: int = 1  # new frames of a port that one ACK answers
    blocks: Sequence[Mapping[int, Descriptor]] = ()
    program: Sequence[Step] = (Step(0, 1),)  # repeated for ever
    rows: Sequence[Row] = ()
    links: Mapping[int, int] = field(default_factory=dict)  # ports of other switches, by our ports
    maximum: bool = False  # aggregators have the largest contributions in place of their sum
    above: int = 0  # bitmap of the links by which ADVANCEs come; 0: this switch ends turns

    @property
    def size(self) -> int:
        """Return the number of aggregators of a turn."""
        return self.banks * self.depth

    @property
    def below(self) -> int:
        """Return the bitmap of the ports whose DONEs are waited for."""
        return self.ports & ~self.above

    @property
    def workers(self) -> int:
        """Return the bitmap of ports without a switch behind, to which alone copies go."""
        return self.ports & ~sum(1 << port for port in self.links)

    def slot(self, turn: int) -> int:
        """Return which of the open turns' windows and aggregators a turn has."""
        return turn % self.open_turns

    def place(self, turn: int, aggregator: int) -> int:
        """Return where in the region a turn has one of its aggregators."""
        return self.slot(turn) * self.size + aggregator

    def block(self, turn: int) -> int:
        """Return the block of a turn."""
        turn %= sum(step.turns for step in self.program)
        for step in self.program:
            if turn < step.turns:
                return step.block
            turn -= step.turns
        raise AssertionError("the program has as many turns as its steps")

    def added_to(self, frame: Frame) -> Iterator[tuple[int, int]]:
        """Yield row and aggregator of each addition of a frame; -1 if there is no such row."""
        if frame.kind is Kind.PARTIAL:
            yield 0, frame.list
            return
        for number in range(frame.list, frame.list + frame.rows):
            if number >= len(self.rows):
                yield number, -1
                continue
            for bank, index in enumerate(self.rows[number]):
                if index is not None:
                    yield number, index * self.banks + bank
