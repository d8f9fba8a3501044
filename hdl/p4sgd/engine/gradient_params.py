"""The sizes of a lane's gradient accumulation: its adder, in LUTs or DSP slices, and its sum."""

from dataclasses import dataclass

from amaranth.utils import ceil_log2

from hdl.p4sgd.engine.adder_tree import TreeParams
from hdl.p4sgd.engine.dsp_cascade import CascadeParams


@dataclass(frozen=True, kw_only=True)
class GradientParams:
    """Sizes of the gradient accumulation of a lane (P4SGD, section 4.1.2)."""

    banks: int  #: K, samples of a micro-batch
    max_bits: int  #: largest precision s of a feature
    scaled_bits: int  #: width of a delta times the weight of a plane
    dsp: bool  #: gate and add in DSP48E2 slices, otherwise in LUTs

    @property
    def tree(self) -> TreeParams:
        """The adder tree in LUTs: it adds the banks' scaled deltas, gated by the lane's bits."""
        return TreeParams(inputs=self.banks, bits=self.scaled_bits)

    @property
    def cascade(self) -> CascadeParams:
        """The DSP cascade: it adds as the tree does, and adds up the planes from one half on."""
        return CascadeParams(
            inputs=self.banks,
            bits=self.scaled_bits,
            total_bits=self.bits,
            start=1 << (self.max_bits - 1),
        )

    def delta_skew(self, bank: int) -> int:
        """Cycles by which a lane takes the scaled delta of ``bank`` after its bit of a plane."""
        return self.cascade.skew(bank) if self.dsp else 0

    @property
    def latency(self) -> int:
        """Cycles from a plane to the gradient: tree and planes, or the cascade, which has both."""
        return self.cascade.latency if self.dsp else self.tree.latency + 1

    @property
    def bits(self) -> int:
        """Width of the sum over banks and planes, exact with ``max_bits`` fraction bits."""
        return self.scaled_bits + ceil_log2(self.banks) + 1
