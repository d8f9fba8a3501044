"""Describes the contents of an aggregator, and the commands and results of its bank."""

from typing import Any

from amaranth.hdl import Value
from amaranth.lib import data, enum

from hdl.common.memory import MemoryParams
from hdl.switchgnn.switch.sizes import COUNT_BITS, INDEX_BITS, TAG_BITS, GnnSwitchSizes


class BankOperation(enum.Enum, shape=3):
    """Names the commands of a bank for one of its aggregators."""

    NONE = 0
    ADD = 1  #: a contribution is added; the first one of a turn occupies the aggregator
    FETCH = 2  #: a complete sum must leave again, unless it is already waiting to leave
    READ = 4  #: the first aggregator in the list of a port leaves; see :func:`read_bit`
    LOAD = 3  #: the aggregator gets a descriptor, and belongs to no turn yet


def read_bit(operation: Any) -> Value:
    """Return the bit that only READ has; it is driven alone, as the bank is known late."""
    return Value.cast(operation)[-1]


class TableError(enum.Enum, shape=3):
    """Names the reasons for which a contribution of a list is not added."""

    NONE = 0  #: all contributions were made
    OUTSIDE = 1  #: the aggregator is not one of the turn's
    UNUSED = 2  #: the block expects no contribution to it
    COMPLETE = 3  #: its sum has all contributions of the turn already
    #: the row is not below `job_list_rows`, or memory has not given it; counted once a row
    NO_SUCH_ROW = 4


class AggregatorParams(GnnSwitchSizes):
    """Adds the bundles of banks and their aggregators to the sizes of the switch."""

    @property
    def entry(self) -> data.StructLayout:
        """Describe an aggregator with its sums."""
        return data.StructLayout(
            {
                "sums": self.sums,
                "used": 1,  # the block has a destination for it, so expected is not 0
                "expected": COUNT_BITS,  # number of contributions
                "remaining": COUNT_BITS,  # number of contributions missing from the sum
                "tag": TAG_BITS,  # of the sum's turn
                "port": self.port_bits,  # port by which the sum leaves
                "complete": 1,
                "queued": 1,  # it is in the list of a port
            }
        )

    @property
    def state(self) -> data.StructLayout:
        """Describe an aggregator without its sums."""
        fields = self.entry.members
        return data.StructLayout({name: fields[name] for name in fields if name != "sums"})

    @property
    def sums_memory(self) -> MemoryParams:
        """Return the sizes of the memory of a bank's sums."""
        return MemoryParams(
            shape=self.bank_sums, depth=self.slots, style=self.style, output_registers=0
        )

    @property
    def state_memory(self) -> MemoryParams:
        """Return the sizes of the memory of a bank's aggregators without their sums."""
        return MemoryParams(shape=self.state, depth=self.slots, style=self.style)

    @property
    def region(self) -> data.StructLayout:
        """Describe the region of a turn's aggregators in every bank, and what they compute."""
        fields = {"base": self.slot_bits, "count": self.count_bits}
        return data.StructLayout(fields | self.maximum)

    @property
    def maximum(self) -> dict[str, int]:
        """Return the field that says whether the largest contributions are stored, if any may."""
        return {"maximum": 1} if self.maxima else {}

    @property
    def descriptor(self) -> data.StructLayout:
        """Describe a descriptor, which is loaded into an aggregator."""
        return data.StructLayout({"expected": COUNT_BITS, "port": self.port_bits})

    @property
    def bank_command(self) -> data.StructLayout:
        """Describe the command of a bank in a cycle."""
        return data.StructLayout(
            {
                "operation": BankOperation,
                "index": INDEX_BITS,  # number of the aggregator in the region; READ: unused
                "region": self.region,
                "tag": TAG_BITS,  # ADD, FETCH: of the turn; LOAD: of the turn before it
                "port": self.port_bits,  # READ: port of the list
                "descriptor": self.descriptor,  # LOAD
            }
        )

    @property
    def bank_result(self) -> data.StructLayout:
        """Describe a sum that leaves its bank."""
        return data.StructLayout(
            {
                "port": self.port_bits,
                "slot": self.slot_bits,  # number of the aggregator in the bank
                "tag": TAG_BITS,
                "sums": self.bank_sums,
            }
        )

    @property
    def sum_command(self) -> data.StructLayout:
        """Describe the inputs of a :class:`SumMemory` without the payload, each in its cycle."""
        fields = {"address": self.slot_bits, "keep": 1, "write": 1}
        return data.StructLayout(fields | self.maximum)

    @property
    def row(self) -> data.ArrayLayout:
        """Describe a row of lists: for each bank an index, and whether it is valid."""
        return data.ArrayLayout(data.StructLayout({"index": INDEX_BITS, "valid": 1}), self.banks)

    @property
    def indices(self) -> data.ArrayLayout:
        """Describe the index of a row for each bank."""
        return data.ArrayLayout(INDEX_BITS, self.banks)
