"""Adds up a plane of a bank in DSP slices."""

from amaranth.hdl import C, Cat, Module, Signal, signed
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import signed_array
from hdl.common.component import Component
from hdl.p4sgd.engine.dsp_cascade import DspCascade
from hdl.p4sgd.engine.params import EngineParams


class PlaneSum(Component):
    """Computes plus or minus the sum of the ``weights[l]`` whose bit is one (P4SGD, 4.1.3).

    Each cascade of DSP slices adds the gated weights of eight lanes, with ``pair_sums`` of
    sixteen; a tree of two-input adders
    reduces their sums to at most two ``terms``, which the bank adds in its adder of planes.
    ``negative`` negates the sum, in the slices. ``weights[l]`` comes ``params.bank.weight_skew(l)``
    cycles after its bit, and ``pairs[k]``, the sum of lanes 2 k and 2 k + 1, with these.

    Throughput: one plane a cycle, never stalls. Latency: ``params.bank.sum_latency``. Exact.
    """

    def __init__(self, params: EngineParams) -> None:
        count = min(2, params.bank.cascades)
        levels = max(0, ceil_log2(params.bank.cascades) - 1)
        bits = params.bank.cascade.total_bits + levels
        super().__init__(
            params,
            plane=In(params.lanes),
            negative=In(1),
            weights=In(params.model.weights),
            **({"pairs": In(params.model.pairs)} if params.pair_sums else {}),
            terms=Out(signed_array(bits, count)),
        )

    def build(self, m: Module) -> None:
        terms = [self.add_cascade(m, c) for c in range(self.params.bank.cascades)]
        level = 0
        while len(terms) > 2:
            sums = []
            for i in range(0, len(terms), 2):
                total = Signal(
                    signed(len(terms[i]) + 1), name=f"sum_{level}_{i // 2}", reset_less=True
                )
                m.d.sync += total.eq(sum(terms[i + 1 : i + 2], start=terms[i]))
                sums.append(total)
            terms, level = sums, level + 1
        m.d.comb += [self.terms[i].eq(term) for i, term in enumerate(terms)]

    def add_cascade(self, m: Module, c: int):
        """Add cascade ``c``, for some lanes of each group that comes at once; return its sum."""
        params = self.params
        step, each = params.bank.lanes_at_once, params.bank.each
        inputs = params.bank.cascade.inputs
        lanes = [k // each * step + each * c + k % each for k in range(inputs)]
        present = [lane if lane < params.lanes else None for lane in lanes]
        m.submodules[f"cascade_{c}"] = cascade = DspCascade(params.bank.cascade)
        m.d.comb += [
            cascade.gates.eq(Cat(C(0, 1) if k is None else self.plane[k] for k in present)),
            cascade.negate.eq(self.negative),
        ]
        m.d.comb += [
            cascade.values[k].eq(0 if lane is None else self.weights[lane])
            for k, lane in enumerate(present)
        ]
        if params.pair_sums:
            m.d.comb += [
                cascade.sums[k // 2].eq(0 if lane is None else self.pairs[lane // 2])
                for k, lane in enumerate(present)
                if k % 2 == 0
            ]
        return cascade.total
