"""Tracks how far a slot has come, in two bits of memory."""

# The fields of a struct are annotated with shapes, which are no types.
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false

from amaranth.hdl import Mux, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory, ReadPort

from hdl.p4sgd.transport.params import Phase


class Progress(data.Struct):
    """Describes the progress of a slot: the lowest bit of the uses last taken and last freed.

    Each of these is the slot's current use or the one before, so the lowest bit distinguishes them.
    """

    taken: 1  #: lowest bit of the last use whose full activation was taken
    freed: 1  #: lowest bit of the last use that the switch has confirmed, which frees the slot

    def has_taken(self, use: Value) -> Value:
        """Return whether the full activation of ``use`` was taken."""
        return self.taken == use[0]

    def has_freed_before(self, use: Value) -> Value:
        """Return whether the use before ``use`` is freed, so that ``use`` may start."""
        return self.freed != use[0]

    def phase(self, use: Value) -> Value:
        """Return the state of the slot in ``use``."""
        waits = Mux(self.has_taken(use), Phase.ACK, Phase.PARTIAL)
        return Mux(self.freed == use[0], Phase.FREE, waits)


def read_port(memory: Memory) -> ReadPort:
    """Return a port that reads ``memory`` in the same cycle."""
    port = memory.read_port(domain="comb")
    return port  # Amaranth names the port's signals after the variable
