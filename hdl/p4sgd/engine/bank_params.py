"""The sizes of a bank: its adders, in LUTs or DSP slices, and the widths of its exact sums."""

from dataclasses import dataclass

from amaranth.utils import ceil_log2

from hdl.p4sgd.engine.adder_tree import TreeParams
from hdl.p4sgd.engine.dsp_cascade import MOST_SLICES, CascadeParams, cascade


@dataclass(frozen=True, kw_only=True)
class BankParams:
    """Sizes of a bank (P4SGD, section 4.1.3)."""

    lanes: int  #: L, features of a chunk
    max_bits: int  #: largest precision s of a feature
    weight_bits: int  #: width of a weight and of a delta
    chunks: int  #: chunks whose sums are added up
    dsp: bool  #: gate and add in DSP48E2 slices, otherwise in LUTs

    @property
    def tree(self) -> TreeParams:
        """The adder tree in LUTs: it adds the weights of a chunk, gated by the bits of a plane."""
        return TreeParams(inputs=self.lanes, bits=self.weight_bits)

    @property
    def cascades(self) -> int:
        """Number of DSP cascades, as long as they may be; a tree adds their sums."""
        return -(-self.lanes // (2 * MOST_SLICES))

    @property
    def cascade(self) -> CascadeParams:
        """Sizes of each of the DSP cascades."""
        return cascade(2 * -(-self.lanes // (2 * self.cascades)), self.weight_bits)

    @property
    def lanes_at_once(self) -> int:
        """Lanes whose weights the bank takes in the same cycle: the slices of a cascade add two
        each, one slice after the other.
        """
        return 2 * self.cascades if self.dsp else self.lanes

    def weight_skew(self, lane: int) -> int:
        """Cycles by which the bank takes the weight of ``lane`` after its bits of a plane."""
        return lane // self.lanes_at_once

    @property
    def sum_latency(self) -> int:
        """Cycles from a plane to what is left to add: a tree's sum, or two terms."""
        if self.dsp:
            return self.cascade.latency + max(0, ceil_log2(self.cascades) - 1)
        return self.tree.latency

    @property
    def latency(self) -> int:
        """Cycles from a plane to the bank's sum: plane sum, Horner, chunks."""
        return self.sum_latency + 2

    @property
    def plane_sum_bits(self) -> int:
        """Width of a plane's sum over the lanes, which is exact."""
        return self.weight_bits + ceil_log2(self.lanes)

    @property
    def partial_bits(self) -> int:
        """Width of a sample's sum over planes and chunks, which is exact."""
        return self.plane_sum_bits + self.max_bits + ceil_log2(self.chunks)

    @property
    def scaled_bits(self) -> int:
        """Width of a delta times the weight of any plane, exact with ``max_bits`` fraction bits.

        The most negative delta on a signed plane 0 is negated, which takes one bit more.
        """
        return self.weight_bits + self.max_bits + 1
