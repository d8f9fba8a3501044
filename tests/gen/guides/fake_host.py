"""Stands in for a register bus and a host's memory, so that a driver runs without a simulator."""

from types import SimpleNamespace

from cocotbext.axi import AxiResp


class FakeBus:
    """Keeps what is written, and every word as it was at each command; reads come from ``shown``.

    ``commands`` are addresses whose words are commands: they are not kept.
    """

    def __init__(self, commands, shown=None):
        self.commands, self.shown = commands, shown or {}
        self.words, self.moments, self.writes = {}, [], []

    def take(self, address, word):
        """Take a write."""
        self.writes.append((address, word))
        if address in self.commands:
            self.moments.append((address, word, dict(self.words)))
        else:
            self.words[address] = word

    async def write(self, address, octets):
        """Take a write as an AXI4-Lite master does."""
        self.take(address, int.from_bytes(octets, "little"))
        return SimpleNamespace(resp=AxiResp.OKAY)

    async def read(self, address, length):
        """Answer a read as an AXI4-Lite master does."""
        words = (self.shown.get(at, 0) for at in range(address, address + length, 4))
        return SimpleNamespace(
            resp=AxiResp.OKAY, data=b"".join(word.to_bytes(4, "little") for word in words)
        )


class FakeMemory:
    """A host's memory, in a bytearray."""

    def __init__(self, size):
        self.octets = bytearray(size)

    async def write(self, address, octets):
        """Write bytes."""
        self.octets[address : address + len(octets)] = octets

    async def read(self, address, length):
        """Return bytes."""
        return bytes(self.octets[address : address + length])
