"""Adds up the partial activations of a worker's engines."""

from functools import reduce
from operator import add

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import count_ones, data_register, low_bits, rounded_half, saturate
from hdl.common.component import Component
from hdl.common.placed_delay import KEPT_APART
from hdl.p4sgd.worker_params import WorkerParams


class PartialSum(Component):
    """Computes ``PA = sat(round(sum over engines))`` of every sample (P4SGD, 4.1.3, stage 2).

    Engines, or sets of engines, offer exact sums in units of the last plane, which weighs
    ``2^-bits`` (``2^-(bits-1)`` for signed features); over several dies their groups have added
    these up to one term. They are added exactly and rounded once, ``floor(x + 1/2)``, so the result
    does not depend on the number of engines. ``settings`` must be stable from a cycle before the
    first sum. ``saturations`` counts the samples that saturated, in the cycle after a result is
    accepted.

    Throughput: one micro-batch a cycle. Latency: :attr:`latency` cycles: a level of three-input
    adders per factor of three in terms, rounding, clamping. A waiting result holds the pipeline.
    """

    def __init__(self, params: WorkerParams) -> None:
        engine = params.engine
        terms = params.sets if params.slrs == 1 else 1
        self.levels = 0
        while 3**self.levels < terms:
            self.levels += 1
        self.latency = self.levels + 2
        super().__init__(
            params,
            settings=In(engine.settings),
            partials=In(stream.Signature(params.sums(params.sets // terms))).array(terms),
            activations=Out(stream.Signature(engine.activations)),
            saturations=Out(bits_for(engine.banks)),
        )

    def build(self, m: Module) -> None:
        bits = self.params.engine.weight_bits
        advance, everyone = Signal(name="advance"), Signal(name="everyone")
        valid = Signal(self.latency)
        m.d.comb += [
            advance.eq(~self.activations.valid | self.activations.ready),
            everyone.eq(Cat(p.valid for p in self.partials).all()),
            self.activations.valid.eq(valid[-1]),
        ]
        m.d.comb += [p.ready.eq(everyone & advance) for p in self.partials]
        following = Cat(everyone, valid[:-1])
        with m.If(advance):
            m.d.sync += valid.eq(following)

        shift = Signal(self.params.engine.precision_bits, reset_less=True)
        m.d.sync += shift.eq(self.settings.bits - self.settings.signed_features)
        activations = data_register(m, self.activations.payload)
        overflows = []
        for k in range(self.params.engine.banks):
            # Each sample's registers have an enable of their own, as one would have many loads.
            full = Signal(name=f"full_{k}", attrs=KEPT_APART)
            own = Signal(name=f"advance_{k}")
            m.d.comb += own.eq(~full | self.activations.ready)
            with m.If(own):
                m.d.sync += full.eq(following[-1])
            total = self.add_engines(m, [p.payload[k] for p in self.partials], own, k)
            rounded = Signal(signed(len(total)), name=f"rounded_{k}", reset_less=True)
            overflowed = Signal(name=f"overflowed_{k}", reset_less=True)
            clamped, overflow = saturate(rounded, bits)
            with m.If(own):
                m.d.sync += [
                    rounded.eq(rounded_half((total << 1) >> shift)),
                    activations[k].eq(clamped),
                    overflowed.eq(overflow),
                ]
            overflows.append(overflowed)
        leaving = self.activations.valid & self.activations.ready
        m.d.sync += self.saturations.eq(Mux(leaving, count_ones(overflows), 0))

    def add_engines(self, m: Module, terms: list, advance, sample: int):
        """Return the sum of ``terms``, with a register after each level of three-input adders."""
        for level in range(self.levels):
            groups = [terms[i : i + 3] for i in range(0, len(terms), 3)]
            for i, group in enumerate(groups):
                if len(group) == 3:
                    pair = group[0] + group[1]
                    named = Signal(pair.shape(), name=f"pair_{sample}_{level}_{i}")
                    m.d.comb += named.eq(pair)
                    group[:2] = [named]
            terms = [
                Signal(
                    signed(self.params.sum_bits), name=f"sum_{sample}_{level}_{i}", reset_less=True
                )
                for i in range(len(groups))
            ]
            with m.If(advance):
                m.d.sync += [
                    term.eq(low_bits(reduce(add, group), self.params.sum_bits))
                    for term, group in zip(terms, groups, strict=True)
                ]
        return terms[0]
