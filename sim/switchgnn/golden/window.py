"""Which frames of a turn have arrived, as the receiver knows and as its ACKs tell the sender."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """Bit k of `arrived` stands for seq k; hardware keeps `base` and as many bits as it is wide."""

    arrived: int = 0

    @property
    def base(self) -> int:
        """The first seq that has not arrived."""
        return (~self.arrived & self.arrived + 1).bit_length() - 1

    @property
    def ahead(self) -> int:
        """What has arrived from the base on, as an ACK has it."""
        return self.arrived >> self.base

    def has(self, seq: int) -> bool:
        """Whether a frame has arrived."""
        return bool(self.arrived >> seq & 1)

    def holds(self, seq: int, width: int) -> bool:
        """Whether a frame is below the window's end: the receiver has a bit for it, or had one."""
        return seq < self.base + width

    def marked(self, seq: int) -> "Window":
        """The window after a frame has arrived."""
        return Window(self.arrived | 1 << seq)

    def acknowledged(self, base: int, bitmap: int) -> "Window":
        """The window after an ACK, be it older than others that have come."""
        return Window(self.arrived | (1 << base) - 1 | bitmap << base)
