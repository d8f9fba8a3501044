"""Chooses the idxs of a work request while a program runs, by how long its gathers take."""

CHANGED = 1.25  #: factor by which the time of the best batch differs when all is measured anew


class BatchTuner:
    """Chooses the batch of the next gather, for programs that gather alike again and again.

    A small batch costs the host more, a large one leaves clients without work at the end, and the
    best one depends on the matrix (NetSparse, sections 5, 9.3 and 9.4, which leaves the choice to
    others). The batch with the least time so far is compared with twice and with half of it, until
    both take as long or longer. It is measured again with each further gather: if its time has
    changed to more than CHANGED times as much, or less than that part, the others are forgotten.

    ``batch`` is the idxs of a request of the next gather, from ``least`` to ``most``. ``settled``
    says that both neighbours were tried. ValueError for a ``first`` batch that is not between them.
    """

    def __init__(self, first: int, *, least: int = 1, most: int = (1 << 32) - 1) -> None:
        if not 1 <= least <= first <= most:
            raise ValueError(f"batches must be 1 <= least <= first <= most: {least, first, most}")
        self.least, self.most = least, most
        self.batch, self.settled = first, False
        self._times: dict[int, float] = {}  # the last time of each batch that was tried

    def report(self, time: float) -> None:
        """Take note of how long the gather with ``batch`` took, in any unit."""
        before = self._times.get(self.batch, time)
        if not before / CHANGED <= time <= before * CHANGED:
            self._times.clear()
        self._times[self.batch] = time
        best = min(self._times, key=lambda batch: (self._times[batch], batch))
        untried = [
            batch
            for batch in (2 * best, best // 2)
            if self.least <= batch <= self.most and batch not in self._times
        ]
        self.batch, self.settled = [*untried, best][0], not untried
