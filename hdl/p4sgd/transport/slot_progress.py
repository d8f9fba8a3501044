"""Tracks how far a slot has come, in two bits of memory."""

# The fields of a struct are annotated with shapes, which are no types.
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false

from amaranth.hdl import Mux, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory, ReadPort

from hdl.p4sgd.transport.params import Phase


class Progress(data.Struct):
    """Tells how far a slot has come: the lowest bit of the uses last taken and last freed.

    Those are the use that the slot is in or the use before, so that this bit tells which.
    """

    taken: 1  #: lowest bit of the last use whose full activation was taken
    freed: 1  #: lowest bit of the last use that the switch has confirmed, which frees the slot

    def has_taken(self, use: Value) -> Value:
        """Return what is high if the full activation of ``use`` was taken."""
        return self.taken == use[0]

    def has_freed_before(self, use: Value) -> Value:
        """Return what is high if the use before ``use`` is freed, so that ``use`` may start."""
        return self.freed != use[0]

    def phase(self, use: Value) -> Value:
        """Return what the slot waits for in ``use``."""
        waits = Mux(self.has_taken(use), Phase.ACK, Phase.PARTIAL)
        return Mux(self.freed == use[0], Phase.FREE, waits)


def read_port(memory: Memory) -> ReadPort:
    """Return a port that reads ``memory`` in the same cycle."""
    port = memory.read_port(domain="comb")
    return port  # Amaranth names the port's signals after the variable
