"""Reads and writes the registers of the card itself, as opposed to those of its design."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sim.host.device import Registers, wait_until
from sim.host.selftest.checks import CheckFailed

MODES = {"pcs": 1, "pma": 2}  #: part of the transceiver in which packets turn back
#: names of a MAC's counters of packets that were lost or damaged
LOSSES = ("dropped", "broken", "uncorrected", "cut_transmit", "cut_receive")


class Board:
    """Reads and writes fields of a card; ``places`` has address, first bit and bits by name."""

    def __init__(self, device: Registers, places: Mapping[str, tuple[int, int, int]]) -> None:
        self.device, self.places = device, places

    def read(self, name: str) -> int:
        """Return the value of a field, which may lie in two words."""
        address, first, bits = self.places[name]
        word = self.device.read(address)
        if first + bits > 32:
            word |= self.device.read(address + 4) << 32
        return word >> first & (1 << bits) - 1

    def write(self, name: str, value: int) -> None:
        """Write a field; the other fields of its register are written as they read."""
        address, first, bits = self.places[name]
        word = self.device.read(address) & ~((1 << bits) - 1 << first)
        self.device.write(address, word | value << first)

    @contextmanager
    def loopback(self, cage: int, mode: str, seconds: float) -> Iterator[None]:
        """Let the MAC at a cage receive what it sends, while the context lasts.

        ``mode`` is one of MODES. Raises DeviceError if the MAC does not
        receive its own signal within ``seconds``, and CheckFailed if it has lost or damaged a
        packet meanwhile.
        """
        self.write(f"loopback_{cage}", MODES[mode])
        try:
            linked = f"the wait for the link of cage {cage} to itself"
            wait_until(self.device, lambda: self.read(f"linked_{cage}"), linked, seconds)
            self.write("clear_losses", 1)
            yield
            for name in LOSSES:
                if count := self.read(f"{name}_{cage}"):
                    raise CheckFailed(f"the MAC of cage {cage} counts {count} in {name}_{cage}")
        finally:
            self.write(f"loopback_{cage}", 0)
