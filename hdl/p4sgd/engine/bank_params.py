"""Describes the sizes of a bank: its adders, in LUTs or DSP slices, and its exact sums."""

from amaranth.utils import ceil_log2

from hdl.common.params import Params
from hdl.p4sgd.engine.adder_tree import TreeParams
from hdl.p4sgd.engine.dsp_cascade import CascadeParams, cascade

SLICES = 4  #: most slices of a cascade of a bank: each one adds a cycle


class BankParams(Params):
    """Sets the sizes of a bank (P4SGD, section 4.1.3)."""

    lanes: int  #: L, number of features of a chunk
    max_bits: int  #: largest precision s of a feature
    weight_bits: int  #: width of a weight and of a delta
    chunks: int  #: number of chunks whose sums are added up
    dsp: bool  #: whether DSP48E2 slices gate and add, otherwise LUTs
    pair_sums: bool  #: whether banks share sums of pairs of weights, which halves their slices

    @property
    def tree(self) -> TreeParams:
        """Return the sizes of the tree in LUTs that adds the weights with a one in the plane."""
        return TreeParams(inputs=self.lanes, bits=self.weight_bits)

    @property
    def cascades(self) -> int:
        """Return the number of DSP cascades of maximal length; a tree adds their sums."""
        return -(-self.lanes // (self.each * SLICES))

    @property
    def each(self) -> int:
        """Return the number of lanes of a DSP slice."""
        return 4 if self.pair_sums else 2

    @property
    def cascade(self) -> CascadeParams:
        """Return the sizes of each of the DSP cascades."""
        slices = -(-self.lanes // (self.each * self.cascades))
        return cascade(self.each * slices, self.weight_bits, self.pair_sums)

    @property
    def lanes_at_once(self) -> int:
        """Return the number of lanes whose weights the bank takes in the same cycle.

        The slices of a cascade add ``each`` lanes, one slice after the other.
        """
        return self.each * self.cascades if self.dsp else self.lanes

    def weight_skew(self, lane: int) -> int:
        """Return by how many cycles the weight of ``lane`` comes after its bits of a plane."""
        return lane // self.lanes_at_once

    @property
    def sum_latency(self) -> int:
        """Return the number of cycles from a plane to its sum, which may be two terms."""
        if self.dsp:
            return self.cascade.latency + max(0, ceil_log2(self.cascades) - 1)
        return self.tree.latency

    @property
    def latency(self) -> int:
        """Return the number of cycles from a plane to the bank's sum: plane sum, Horner, chunks."""
        return self.sum_latency + 2

    @property
    def plane_sum_bits(self) -> int:
        """Return the width of a plane's sum over the lanes, which is exact."""
        return self.weight_bits + ceil_log2(self.lanes)

    @property
    def partial_bits(self) -> int:
        """Return the width of a sample's sum over planes and chunks, which is exact."""
        return self.plane_sum_bits + self.max_bits + ceil_log2(self.chunks)

    @property
    def scaled_bits(self) -> int:
        """Return the width of a delta times the weight of any plane.

        It is exact with ``max_bits`` fraction bits. The most negative delta on a signed plane 0 is
        negated, which takes one bit more.
        """
        return self.weight_bits + self.max_bits + 1
