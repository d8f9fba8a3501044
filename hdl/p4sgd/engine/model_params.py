"""Describes the model memory's sizes, and the bundles by which a host reads and writes weights."""

from amaranth.hdl import signed
from amaranth.lib import data
from amaranth.utils import ceil_log2

from hdl.common.params import Params
from hdl.p4sgd.engine.columns import Column, columns

GROUP_LANES = 8  #: number of weights of one host access: a 256-bit beat of 32-bit weights


class ModelParams(Params):
    """Sets the sizes of the model memory of an engine (P4SGD, section 4.1.2)."""

    lanes: int  #: L, number of weights of a chunk
    weight_bits: int  #: width of a weight
    chunks: int  #: number of chunks that the memory holds
    column_lanes: int  #: number of lanes whose weights the banks take in the same cycle

    @property
    def chunk_bits(self) -> int:
        """Return the width of a chunk's index."""
        return max(1, ceil_log2(self.chunks))

    @property
    def weights(self) -> data.ArrayLayout:
        """Describe the weights of a chunk, lane 0 first."""
        return data.ArrayLayout(signed(self.weight_bits), self.lanes)

    @property
    def pairs(self) -> data.ArrayLayout:
        """Describe the sums of lanes 2 k and 2 k + 1 of a chunk."""
        return data.ArrayLayout(signed(self.weight_bits + 1), -(-self.lanes // 2))

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of the architectural copy, cut where UltraRAMs end."""
        return columns(self.weights.size, self.column_lanes * self.weight_bits)

    @property
    def group_bits(self) -> int:
        """Return the width of the index of a group: the eight lanes that a host access covers."""
        return max(1, ceil_log2(-(-self.lanes // GROUP_LANES)))

    @property
    def address(self) -> data.StructLayout:
        """Describe the address of a group of eight weights in the model memory."""
        return data.StructLayout({"chunk": self.chunk_bits, "group": self.group_bits})

    @property
    def group(self) -> data.ArrayLayout:
        """Describe eight weights as the host sees them, lane 0 first."""
        return data.ArrayLayout(signed(self.weight_bits), GROUP_LANES)

    @property
    def load(self) -> data.StructLayout:
        """Describe eight weights, and the address to write them to."""
        return data.StructLayout({**self.address.members, "weights": self.group})
