"""Accumulates the gradient of one lane over all samples of a micro-batch, plane by plane."""

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay, low_bits, signed_array
from hdl.common.component import Component
from hdl.p4sgd.engine.adder_tree import GatedAdderTree
from hdl.p4sgd.engine.dsp_cascade import DspCascade
from hdl.p4sgd.engine.params import EngineParams


class GradientLane(Component):
    """Computes ``gradient``, the sum of bit times scaled delta over planes and banks (4.1.2).

    ``planes`` has this lane's bit of every bank. ``scaled`` has every bank's delta times the weight
    of the plane; that of bank k comes ``params.gradient.delta_skew(k)`` cycles later. ``first``
    marks the first plane of a chunk. ``gradient`` holds the rounded gradient, ``floor(sum + 1/2)``,
    ``params.gradient.latency`` cycles after the last plane: the sum is exact with ``max_bits``
    fraction bits, starts at one half, and its fraction is cut off.

    Throughput: one plane a cycle, never stalls; cycles without ``valid`` change nothing.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            valid=In(1),
            first=In(1),
            planes=In(params.banks),
            scaled=In(signed_array(params.bank.scaled_bits, params.banks)),
            gradient=Out(signed(params.gradient.bits - params.max_bits)),
        )

    def build(self, m: Module) -> None:
        exact = self.cascade(m) if self.params.dsp else self.tree(m)
        m.d.comb += self.gradient.eq(exact >> self.params.max_bits)

    def cascade(self, m: Module) -> Value:
        """Add up the gradient in DSP slices, of which the last one also adds up the planes."""
        m.submodules.cascade = cascade = DspCascade(self.params.gradient.cascade)
        m.d.comb += [
            cascade.gates.eq(self.planes),
            cascade.values.eq(self.scaled),
            cascade.valid.eq(self.valid),
            cascade.first.eq(self.first),
        ]
        return cascade.total

    def tree(self, m: Module) -> Value:
        """Add up the gradient in LUTs: a tree over the banks, an accumulator for the planes."""
        params = self.params
        m.submodules.tree = tree = GatedAdderTree(params.gradient.tree)
        m.d.comb += [tree.gates.eq(self.planes), tree.values.eq(self.scaled)]
        first = delay(m, self.first, params.gradient.tree.latency, "first")
        valid = delay(m, self.valid, params.gradient.tree.latency, "valid", reset_less=False)
        exact = Signal(signed(params.gradient.bits), reset_less=True)
        half = 1 << (params.max_bits - 1)
        with m.If(valid):
            total = Mux(first, half, exact) + tree.total
            m.d.sync += exact.eq(low_bits(total, params.gradient.bits))
        return exact
