"""Models the queues of a switch's ports, in slots: one for all packets, or one for the switch's."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.planning.saved import places

Ints = NDArray[np.int64]


class SharedPorts:
    """Holds a queue a port: packets leave one a slot, in the order in which they came.

    What finds ``room`` packets is lost.
    """

    def __init__(self, workers: int, room: int) -> None:
        self.room = room
        self.free = np.zeros(workers, np.int64)  #: when the next packet to come would leave

    def put(self, ports: Ints, now: int) -> tuple[NDArray[np.bool_], Ints, Ints]:
        """Queue packets in this order; return which fit, how many each finds, when each leaves."""
        self.free = np.maximum(self.free, now)
        result = self.free[ports] - now + places(ports)
        fits = result < self.room
        np.add.at(self.free, ports[fits], 1)
        return fits, result, now + result

    def waiting(self, now: int) -> Ints:
        """Return how many packets wait at each port: [workers]."""
        return np.maximum(self.free - now, 0)


class FairPorts:
    """Holds a queue of sums for each port, and one of ``room`` packets of others.

    Each sends a packet in turn while both have some (:mod:`sim.switchgnn.network.background`). Sums
    are never lost: what finds the switch's queue full waits in its aggregator, and is in order.
    """

    def __init__(self, workers: int, room: int) -> None:
        self.room = room
        self.sums: list[deque[int]] = [deque() for _ in range(workers)]
        self.own = np.zeros(workers, np.int64)  #: sums that wait
        self.others = np.zeros(workers, np.int64)
        self.own_next = np.ones(workers, bool)  #: who sends next if both have a packet

    def cross(self, ports: Ints) -> NDArray[np.bool_]:
        """Queue packets of others; return which fit."""
        fits = self.others[ports] + places(ports) < self.room
        np.add.at(self.others, ports[fits], 1)
        return fits

    def put(self, sums: Ints, ports: Ints) -> None:
        """Queue sums, in this order."""
        for item, port in zip(sums.tolist(), ports.tolist(), strict=True):
            self.sums[port].append(item)
        np.add.at(self.own, ports, 1)

    def leave(self) -> Ints:
        """Pass a slot; return the sums that leave, of one port each."""
        own = (self.own > 0) & ((self.others == 0) | self.own_next)
        other = ~own & (self.others > 0)
        self.own_next = np.where(own | other, other, self.own_next)
        self.own -= own
        self.others -= other
        return np.array([self.sums[port].popleft() for port in np.flatnonzero(own)], np.int64)
