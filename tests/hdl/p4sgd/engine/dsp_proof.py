"""States what is proven of DSP slices: their sums are those of the adder trees, bit for bit."""

from dataclasses import replace

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib.wiring import In

from hdl.common.arithmetic import delay, signed_array
from hdl.common.component import Component
from hdl.common.dsp48e2 import DSP_BITS
from hdl.p4sgd.engine.adder_tree import GatedAdderTree
from hdl.p4sgd.engine.gradient_lane import GradientLane
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.plane_sum import PlaneSum
from tests.formal.claims import claim, reach


class PlaneSumProof(Component):
    """Has a bank's :class:`PlaneSum` and its tree: any plane, any weights, either sign."""

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            plane=In(params.lanes),
            negative=In(1),
            weights=In(params.model.weights),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.slices = slices = PlaneSum(params)
        m.submodules.tree = tree = GatedAdderTree(params.bank.tree)
        m.d.comb += [
            slices.plane.eq(self.plane),
            slices.negative.eq(self.negative),
            tree.gates.eq(self.plane),
            tree.values.eq(self.weights),
        ]
        for lane in range(params.lanes):
            late = delay(m, self.weights[lane], params.bank.weight_skew(lane), f"weight_{lane}")
            m.d.comb += slices.weights[lane].eq(late)
            if params.pair_sums:
                both = slices.weights[lane // 2 * 2 : lane // 2 * 2 + 2]
                m.d.comb += slices.pairs[lane // 2].eq(sum(both))
        total = delay(m, tree.total, params.bank.sum_latency - params.bank.tree.latency, "total")
        negative = delay(m, self.negative, params.bank.sum_latency, "negative")
        known = delay(m, Signal(init=1), params.bank.sum_latency, "known", reset_less=False)
        expected = Mux(negative, -total, total)
        with m.If(known):
            claim(m, "slices_sum_what_the_tree_sums", sum(slices.terms) == expected)
        reach(m, "a_sum_of_all_lanes", known & (total == sum(1 << k for k in range(5))))


class GradientProof(Component):
    """Has a :class:`GradientLane` of slices and one of a tree: any bits, deltas and gaps.

    The sums are compared at all times from the first chunk after a reset on, with their fractions.
    """

    def __init__(self, params: EngineParams) -> None:
        last = params.gradient.cascade.slices - 1
        self.peeks = {"exact": "tree.exact", "sum": f"slices.cascade.slice_{last}.sum"}
        super().__init__(
            params,
            valid=In(1),
            first=In(1),
            planes=In(params.banks),
            scaled=In(signed_array(params.bank.scaled_bits, params.banks)),
            exact=In(signed(params.gradient.bits)),
            sum=In(DSP_BITS),
        )

    def build(self, m: Module) -> None:
        params = self.params
        in_luts = replace(params, dsp=False)
        m.submodules.slices = slices = GradientLane(params)
        m.submodules.tree = tree = GradientLane(in_luts)
        for lane in (slices, tree):
            m.d.comb += [
                lane.valid.eq(self.valid),
                lane.first.eq(self.first),
                lane.planes.eq(self.planes),
            ]
        for k in range(params.banks):
            late = delay(m, self.scaled[k], params.gradient.delta_skew(k), f"scaled_{k}")
            m.d.comb += [slices.scaled[k].eq(late), tree.scaled[k].eq(self.scaled[k])]
        lag = params.gradient.latency - in_luts.gradient.latency
        exact = delay(m, self.exact, lag, "exact")
        gradient = delay(m, tree.gradient, lag, "gradient")
        begun = Signal()
        begins = begun | (self.valid & self.first)
        m.d.sync += begun.eq(begins)
        known = delay(m, begins, params.gradient.latency, "known", reset_less=False)
        same = self.sum[: params.gradient.bits].as_signed()
        with m.If(known):
            claim(m, "slices_add_up_the_same", same == exact)
            claim(m, "the_same_gradient", slices.gradient == gradient)
        reach(m, "a_gradient_of_two_planes", known & (gradient == 5) & ~self.first)
