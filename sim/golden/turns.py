"""Says in which order a switch takes frames of several ports, by turns and a frame a cycle."""

from collections import deque
from collections.abc import Iterator
from typing import Any


class Turns:
    """Holds what has come at the ports of a switch, which takes one a cycle in round-robin order.

    Of the ports at which something waits, the next one behind that of the last turn is served, by
    ascending numbers and then from 0 on. What comes in a cycle may be taken in that cycle. The
    first turn begins at port 0.
    """

    def __init__(self, ports: int) -> None:
        self.waiting: list[deque[tuple[int, Any]]] = [deque() for _ in range(ports)]
        self.last, self.cycle = ports - 1, 0

    def add(self, port: int, cycle: int, item: Any) -> None:
        """Let an item come, whose cycle is not before that of another one at the port."""
        self.waiting[port].append((cycle, item))

    def taken(self, until: float = float("inf")) -> Iterator[Any]:
        """Yield what is taken before the cycle ``until``, from when on others may come."""
        ports = len(self.waiting)
        while heads := [queue[0][0] for queue in self.waiting if queue]:
            self.cycle = max(self.cycle, min(heads))
            if self.cycle >= until:
                return
            ready = [k for k, own in enumerate(self.waiting) if own and own[0][0] <= self.cycle]
            self.last = min(ready, key=lambda port: (port - self.last - 1) % ports)
            self.cycle += 1
            yield self.waiting[self.last].popleft()[1]

    def begin(self) -> None:
        """Count cycles from 0 again; nothing waits."""
        assert not any(self.waiting)
        self.cycle = 0
