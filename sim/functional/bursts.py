"""Defines bins for the bursts on AXI's address channels."""

from typing import Any

from hdl.common.axi import FOUR_KB

BURSTS = ("one beat", "several beats", "ends at 4 KiB")


class Bursts:
    """Samples a channel of bursts: ``names`` of its bins, and those that the ports hit now."""

    names = BURSTS

    def __init__(self, address: Any, length: Any, size: Any) -> None:
        self.ports = address, length, size

    def hit(self) -> frozenset[str]:
        """Return the bins that the burst of this cycle hits."""
        address, length, size = (int(port.value) for port in self.ports)
        hit = {"several beats" if length else "one beat"}
        first = address >> size << size
        if (first + (length + 1 << size)) % FOUR_KB == 0:
            hit.add("ends at 4 KiB")
        return frozenset(hit)
