"""Stands in for a card in the tests of a program, without hardware or simulator."""

from collections.abc import Callable

from sim.host.sparse_memory import SparseMemory


class Fake:
    """Keeps what is written: registers in ``words`` by address, memory in ``memory``.

    A register reads as ``words`` has it, or 0. A test sets ``words`` to what the hardware should
    say, and ``on_write`` to a function of address and word that is called after each write, which
    may change ``words`` as the hardware would.
    """

    def __init__(self, on_write: Callable[[int, int], None] | None = None) -> None:
        self.words: dict[int, int] = {}
        self.memory = SparseMemory()
        self.on_write = on_write

    def read(self, address: int) -> int:
        """Return a register."""
        return self.words.get(address, 0)

    def write(self, address: int, word: int) -> None:
        """Write a register."""
        self.words[address] = word
        if self.on_write is not None:
            self.on_write(address, word)

    def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of memory."""
        return self.memory.read(address, size)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of memory."""
        self.memory.write(address, data)

    def pause(self) -> None:
        """Go on at once: nothing takes time here."""
