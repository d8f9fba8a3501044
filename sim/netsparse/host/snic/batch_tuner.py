"""Chooses the idxs of a work request while a program runs, by how long its gathers take."""

CHANGED = 1.25  #: factor by which the time of the best batch differs when all is measured anew


class BatchTuner:
    """Chooses the batch of the next gather, for programs that gather alike again and again.

    A small batch costs the host more, a large one leaves clients without work at the end, and the
    best one depends on the matrix (NetSparse, sections 5, 9.3 and 9.4, which leaves the choice to
    others). The first batch is compared with twice and with half of it, then the one with the least
    time so far, until both take as long or longer: with both, as a batch that takes hardly less
    time can lead away from one that takes much less. The best is measured again with each further
    gather; if its time has changed by a factor of more than CHANGED, the others are forgotten.

    ``batch`` is the idxs of a request of the next gather, from ``least`` to ``most``. ``settled``
    says that both neighbours were tried. ValueError for a ``first`` batch that is not between them.
    """

    def __init__(self, first: int, *, least: int = 1, most: int = (1 << 32) - 1) -> None:
        if not 1 <= least <= first <= most:
            raise ValueError(f"batches must be 1 <= least <= first <= most: {least, first, most}")
        self.least, self.most = least, most
        self.batch, self.settled, self._compared = first, False, first
        self._times: dict[int, float] = {}  # the last time of each batch that was tried

    def report(self, time: float) -> None:
        """Take note of how long the gather with ``batch`` took, in any unit."""
        before = self._times.get(self.batch, time)
        if not before / CHANGED <= time <= before * CHANGED:
            self._times.clear()
            self._compared = self.batch
        self._times[self.batch] = time
        if not self._untried:
            self._compared = min(self._times, key=lambda batch: (self._times[batch], batch))
        untried = self._untried
        self.batch, self.settled = [*untried, self._compared][0], not untried

    @property
    def _untried(self) -> list[int]:
        near = {2 * self._compared, self._compared // 2} - self._times.keys()
        return sorted((each for each in near if self.least <= each <= self.most), reverse=True)
