"""Finds what is sent for sums that were lost: the features that they are made of (section 3.4)."""

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.planning.saved import starts
from sim.switchgnn.planning.senders import Senders

Ints = NDArray[np.int64]
LINKS = 3  #: from who asks to the port


class Repeats:
    """Tracks a turn's lost sums, and what their workers ask for, one packet a slot.

    Workers send every feature of a sum, once to each worker that asks, which keeps it for others.
    """

    def __init__(self, senders: Senders, workers: int) -> None:
        self.owner = senders.aggregator_worker
        sender, aggregator = senders.additions
        order = np.argsort(aggregator, kind="stable")
        self.parts = sender[order]  #: senders of the parts of each aggregator in turn
        self.first = starts(senders.expected)
        self.lost: list[list[int]] = [[] for _ in range(workers)]  #: sums
        self.queued: dict[int, tuple[int, list[int]]] = {}  #: requests by worker: slot, what
        self.open = np.zeros(workers, np.int64)  #: packets that were asked for and not seen
        self.has: list[set[int]] = [set() for _ in range(workers)]  #: packets that came

    def miss(self, sums: Ints) -> None:
        """Note that these sums were lost when they were sent for the first time."""
        for each in sums.tolist():
            self.lost[self.owner[each]].append(each)

    def needs(self, sums: list[int], worker: int) -> list[int]:
        """Return the packets that a worker still needs for its lost sums."""
        parts = {
            int(u) for each in sums for u in self.parts[self.first[each] : self.first[each + 1]]
        }
        return sorted(parts - self.has[worker])

    def issue(self, worker: int, begin: int) -> None:
        """Let a worker ask, unless it has; packets come to its port from slot ``begin`` on."""
        if self.lost[worker] and not self.open[worker]:
            packets = self.needs(self.lost[worker], worker)
            self.queued[worker] = (begin, packets)
            self.open[worker] = len(packets)

    def leaving(self, now: int) -> tuple[Ints, Ints]:
        """Return the packets that come to ports in this slot, and those ports."""
        ready = [worker for worker, (begin, _) in self.queued.items() if begin <= now]
        result = []
        for worker in ready:
            packets = self.queued[worker][1]
            result.append((packets.pop(0), worker))
            if not packets:
                del self.queued[worker]
        built = np.array(result, np.int64).reshape(-1, 2)
        return built[:, 0], built[:, 1]

    def lose(self, ports: Ints) -> None:
        """Note that packets at these ports are lost: they will be asked for again."""
        np.subtract.at(self.open, ports, 1)

    def get(self, packet: int, worker: int) -> int:
        """Give a worker a packet; return how many of its lost sums are complete now."""
        self.open[worker] -= 1
        self.has[worker].add(packet)
        if self.open[worker]:
            return 0
        before = len(self.lost[worker])
        self.lost[worker] = [each for each in self.lost[worker] if self.is_missing(each, worker)]
        return before - len(self.lost[worker])

    def is_missing(self, each: int, worker: int) -> bool:
        """Return whether a worker still lacks something of a lost sum."""
        parts = self.parts[self.first[each] : self.first[each + 1]]
        return not self.has[worker].issuperset(parts.tolist())
