"""Reaches the registers of the card itself, beside those of its design."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from gen.software.emitted.device import Registers, wait_until
from gen.software.emitted.selftest.checks import CheckFailed

#: what a MAC counts of packets that were lost or damaged
LOSSES = ("dropped", "broken", "uncorrected", "cut_transmit", "cut_receive")


class Board:
    """Reads and writes fields of the card by name: of ``places``, address, first bit and bits."""

    def __init__(self, device: Registers, places: Mapping[str, tuple[int, int, int]]) -> None:
        self.device, self.places = device, places

    def read(self, name: str) -> int:
        """Return a field, of one word or two."""
        address, first, bits = self.places[name]
        word = self.device.read(address)
        if first + bits > 32:
            word |= self.device.read(address + 4) << 32
        return word >> first & (1 << bits) - 1

    def write(self, name: str, value: int) -> None:
        """Write a field; others of its register keep what they read as."""
        address, first, bits = self.places[name]
        word = self.device.read(address) & ~((1 << bits) - 1 << first)
        self.device.write(address, word | value << first)

    @contextmanager
    def loopback(self, cage: int, mode: int, seconds: float) -> Iterator[None]:
        """Let the MAC at a cage hear what it sends, as ``loopback`` says, until this ends.

        CheckFailed if it does not hear itself within ``seconds``, or has lost or damaged a packet
        meanwhile.
        """
        self.write(f"loopback_{cage}", mode)
        try:
            linked = f"the link of cage {cage} to itself"
            wait_until(self.device, lambda: self.read(f"linked_{cage}"), linked, seconds)
            self.write("clear_losses", 1)
            yield
            for name in LOSSES:
                if count := self.read(f"{name}_{cage}"):
                    raise CheckFailed(f"the MAC of cage {cage} counts {count} in {name}_{cage}")
        finally:
            self.write(f"loopback_{cage}", 0)
