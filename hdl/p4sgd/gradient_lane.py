"""One lane of the gradient accumulation: all samples of a micro-batch, plane by plane."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay, signed_array
from hdl.common.component import Component
from hdl.p4sgd.adder_tree import GatedAdderTree
from hdl.p4sgd.params import EngineParams


class GradientLane(Component):
    """``gradient = sum over planes and banks of bit * scaled delta``: P4SGD, section 4.1.2.

    ``planes`` has this lane's bit of every bank and ``scaled`` every bank's delta times the
    weight of the plane; ``first`` marks the first plane of a chunk. ``gradient`` holds the rounded
    gradient, ``floor(sum + 1/2)``, ``params.gradient_latency`` cycles after the last plane: the
    sum is exact with ``max_bits`` fraction bits, starts at one half, and its fraction is cut off.

    Throughput: one plane a cycle, never stalls; cycles without ``valid`` change nothing.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            {
                "valid": In(1),
                "first": In(1),
                "planes": In(params.banks),
                "scaled": In(signed_array(params.scaled_bits, params.banks)),
                "gradient": Out(signed(params.gradient_bits - params.max_bits)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        tree_latency = params.backward_tree.latency
        m.submodules.tree = tree = GatedAdderTree(params.backward_tree)
        m.d.comb += [tree.gates.eq(self.planes), tree.values.eq(self.scaled)]

        first = delay(m, self.first, tree_latency, "first")
        valid = delay(m, self.valid, tree_latency, "valid", reset_less=False)
        exact = Signal(signed(params.gradient_bits), reset_less=True)
        half = 1 << (params.max_bits - 1)
        with m.If(valid):
            m.d.sync += exact.eq(Mux(first, half, exact) + tree.total)
        m.d.comb += self.gradient.eq(exact >> params.max_bits)
        return m
