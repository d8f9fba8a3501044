"""Tracks which frames of a turn have arrived, as the receiver and its ACKs know it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """Holds in bit k of `arrived` whether seq k has; hardware keeps `base` and bits from it on."""

    arrived: int = 0

    @property
    def base(self) -> int:
        """Return the first seq that has not arrived."""
        return (~self.arrived & self.arrived + 1).bit_length() - 1

    @property
    def ahead(self) -> int:
        """Return what has arrived from the base on, as an ACK has it."""
        return self.arrived >> self.base

    def has(self, seq: int) -> bool:
        """Return whether frame ``seq`` has arrived."""
        return bool(self.arrived >> seq & 1)

    def holds(self, seq: int, width: int) -> bool:
        """Return whether a frame is below the window's end: the receiver has or had its bit."""
        return seq < self.base + width

    def marked(self, seq: int) -> "Window":
        """Return the window after a frame has arrived."""
        return Window(self.arrived | 1 << seq)

    def acknowledged(self, base: int, bitmap: int) -> "Window":
        """Return the window after an ACK, which may be older than others that have come."""
        return Window(self.arrived | (1 << base) - 1 | bitmap << base)
