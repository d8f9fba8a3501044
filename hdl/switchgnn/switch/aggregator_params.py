"""Describes what an aggregator keeps, and what its bank is asked for and answers."""

from typing import Any

from amaranth.hdl import Value
from amaranth.lib import data, enum

from hdl.common.memory import MemoryParams
from hdl.switchgnn.switch.sizes import COUNT_BITS, INDEX_BITS, TAG_BITS, GnnSwitchSizes


class BankOperation(enum.Enum, shape=3):
    """Names what a bank does with one of its aggregators."""

    NONE = 0
    ADD = 1  #: a contribution is added; the first one of a turn takes the aggregator
    FETCH = 2  #: a sum that is complete is to leave again, unless it waits to leave already
    READ = 4  #: the first aggregator in the list of a port leaves; see :func:`read_bit`
    LOAD = 3  #: it gets a descriptor, and belongs to no turn yet


def read_bit(operation: Any) -> Value:
    """Return the bit that only READ has: which bank reads is known late, and goes far."""
    return Value.cast(operation)[-1]


class TableError(enum.Enum, shape=3):
    """Names why a contribution that a list asks for is not added."""

    NONE = 0
    OUTSIDE = 1  #: not an aggregator of the job's region
    UNUSED = 2  #: an aggregator that the block has no destination for
    COMPLETE = 3  #: its sum has all its contributions
    NO_SUCH_ROW = 4  #: a row behind the job's lists


class AggregatorParams(GnnSwitchSizes):
    """Adds the bundles of banks and their aggregators to the sizes of the switch."""

    @property
    def entry(self) -> data.StructLayout:
        """Describe an aggregator with its sums."""
        return data.StructLayout(
            {
                "sums": self.sums,
                "used": 1,  # the block has a destination for it, so that expected is not 0
                "expected": COUNT_BITS,  # contributions
                "remaining": COUNT_BITS,  # contributions that are missing from the sum
                "tag": TAG_BITS,  # of the turn that the sum is of
                "port": self.port_bits,  # that the sum leaves by
                "complete": 1,
                "queued": 1,  # it is in the list of a port
            }
        )

    @property
    def state(self) -> data.StructLayout:
        """Describe an aggregator apart from its sums."""
        fields = self.entry.members
        return data.StructLayout({name: fields[name] for name in fields if name != "sums"})

    @property
    def sums_memory(self) -> MemoryParams:
        """Return the sizes of the memory of a bank's sums."""
        return MemoryParams(
            bits=self.bank_sums.size, depth=self.slots, style=self.style, output_registers=0
        )

    @property
    def state_memory(self) -> MemoryParams:
        """Return the sizes of the memory of what a bank's aggregators have beside their sums."""
        return MemoryParams(bits=self.state.size, depth=self.slots, style=self.style)

    @property
    def region(self) -> data.StructLayout:
        """Describe where a turn's aggregators are in every bank."""
        return data.StructLayout({"base": self.slot_bits, "count": self.count_bits})

    @property
    def descriptor(self) -> data.StructLayout:
        """Describe what an aggregator is loaded with."""
        return data.StructLayout({"expected": COUNT_BITS, "port": self.port_bits})

    @property
    def bank_command(self) -> data.StructLayout:
        """Describe what a bank does in a cycle."""
        return data.StructLayout(
            {
                "operation": BankOperation,
                "index": INDEX_BITS,  # of the aggregator in the region; READ: none
                "region": self.region,
                "tag": TAG_BITS,  # ADD, FETCH: of the turn; LOAD: of the turn before it
                "port": self.port_bits,  # READ: whose list
                "descriptor": self.descriptor,  # LOAD
            }
        )

    @property
    def bank_result(self) -> data.StructLayout:
        """Describe a sum that leaves its bank."""
        return data.StructLayout(
            {
                "port": self.port_bits,
                "slot": self.slot_bits,  # the index in the bank
                "tag": TAG_BITS,
                "sums": self.bank_sums,
            }
        )

    @property
    def sum_command(self) -> data.StructLayout:
        """Describe what a :class:`SumMemory` is told beside its payload, each in its own cycle."""
        return data.StructLayout({"address": self.slot_bits, "keep": 1, "write": 1})

    @property
    def row(self) -> data.ArrayLayout:
        """Describe a row of lists: for each bank an index, and whether it is valid."""
        return data.ArrayLayout(data.StructLayout({"index": INDEX_BITS, "valid": 1}), self.banks)

    @property
    def indices(self) -> data.ArrayLayout:
        """Describe the index that each bank is asked for."""
        return data.ArrayLayout(INDEX_BITS, self.banks)
