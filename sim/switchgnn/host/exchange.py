"""Gives each worker of a job what all others send: the tables of a job with a turn for that.

The switch adds the others' features up, or takes the largest in a job with ``maximum``.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """Describes the job of ``workers`` at ports 0 and up of a switch with so many ``banks``.

    Worker w sends one feature and gets aggregator w. The turn needs :attr:`depth` aggregators of
    each bank.
    """

    banks: int
    workers: int

    @property
    def depth(self) -> int:
        """Return the number of aggregators of a bank, and of rows of lists for each worker."""
        return -(-self.workers // self.banks)

    @property
    def rows(self) -> list[list[int | None]]:
        """Return the rows of lists: those of worker 0, which name all but its aggregator, ..."""

        def index(worker: int, row: int, bank: int) -> int | None:
            to = row * self.banks + bank
            return row if to < self.workers and to != worker else None

        places = [(w, row) for w in range(self.workers) for row in range(self.depth)]
        return [[index(*place, bank) for bank in range(self.banks)] for place in places]

    @property
    def block(self) -> dict[int, tuple[int, int]]:
        """Return contributions and port of each aggregator, the block of the only turn."""
        return {worker: (self.workers - 1, worker) for worker in range(self.workers)}

    def sent(self, worker: int) -> tuple[int, int]:
        """Return the first row of lists, and the number of rows, of a worker's feature."""
        return worker * self.depth, self.depth
