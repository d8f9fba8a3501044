"""Describes the sizes of a lane's gradient: its adder, in LUTs or DSP slices, and its sum."""

from amaranth.utils import ceil_log2

from hdl.common.params import Params
from hdl.p4sgd.engine.adder_tree import TreeParams
from hdl.p4sgd.engine.dsp_cascade import CascadeParams


class GradientParams(Params):
    """Sets the sizes of the gradient accumulation of a lane (P4SGD, section 4.1.2)."""

    banks: int  #: K, number of samples of a micro-batch
    max_bits: int  #: largest precision s of a feature
    scaled_bits: int  #: width of a delta times the weight of a plane
    dsp: bool  #: whether DSP48E2 slices gate and add, otherwise LUTs

    @property
    def tree(self) -> TreeParams:
        """Return the sizes of the tree in LUTs that adds the scaled deltas whose bit is one."""
        return TreeParams(inputs=self.banks, bits=self.scaled_bits)

    @property
    def cascade(self) -> CascadeParams:
        """Return the sizes of the DSP cascade, which also adds up the planes, from one half on."""
        return CascadeParams(
            inputs=self.banks,
            bits=self.scaled_bits,
            total_bits=self.bits,
            start=1 << (self.max_bits - 1),
        )

    def delta_skew(self, bank: int) -> int:
        """Return by how many cycles the scaled delta of ``bank`` comes after its bit of a plane."""
        return self.cascade.skew(bank) if self.dsp else 0

    @property
    def latency(self) -> int:
        """Return the number of cycles from a plane to the gradient.

        After a tree the sum of the planes takes one more cycle; a cascade includes it.
        """
        return self.cascade.latency if self.dsp else self.tree.latency + 1

    @property
    def bits(self) -> int:
        """Return the width of the sum over banks and planes: ``max_bits`` fraction bits, exact."""
        return self.scaled_bits + ceil_log2(self.banks) + 1
