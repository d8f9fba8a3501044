"""Holds what a NetSparse switch has counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SwitchCounts:
    """Holds what a switch has counted."""

    ports: Sequence[Mapping[str, int]]  #: counters by port
    pipes: Sequence[Mapping[str, int]]  #: counters by middle pipe

    def port(self, name: str) -> int:
        """Return the sum of a counter over all ports."""
        return sum(each[name] for each in self.ports)

    def pipe(self, name: str) -> int:
        """Return the sum of a counter over all middle pipes; 0 if there are none."""
        return sum(each[name] for each in self.pipes)
