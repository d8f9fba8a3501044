"""Implements a level of the adder of exact sums between groups of engines."""

from functools import reduce
from operator import add

from amaranth.hdl import Module, Signal, signed
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.params import Params

MAX_TERMS = 3  #: most numbers that a carry chain adds up at once


class SumStageParams(Params):
    """Sets the widths of the terms and the sum of one level of the adder."""

    values: int  #: number of sums in a beat, K
    terms: tuple[int, ...]  #: widths of the terms, of which there are two or three
    bits: int  #: width of the sum, enough for the largest one

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= len(self.terms) <= MAX_TERMS:
            raise ValueError(f"a stage adds two or three terms: {len(self.terms)}")
        if self.bits < max(self.terms):
            raise ValueError(
                f"bits must hold the widest term: {self.bits} for {max(self.terms)} bits"
            )

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: the number of values and all widths."""
        return f"{self.values}x{'_'.join(map(str, self.terms))}_to_{self.bits}"


class SumStage(Component):
    """Computes ``o[k] = i_0[k] + i_1[k] (+ i_2[k])``: a beat of each term makes one of ``o``.

    Throughput: one beat a cycle. Latency: :attr:`latency`. Stalls: the terms wait for each other,
    and all of them for ``o``; their ``ready`` follows each other's ``valid`` and ``o.ready``.
    """

    latency = 1

    def __init__(self, params: SumStageParams) -> None:
        super().__init__(
            params,
            **{
                f"i_{k}": In(stream.Signature(data.ArrayLayout(signed(bits), params.values)))
                for k, bits in enumerate(params.terms)
            },
            o=Out(stream.Signature(data.ArrayLayout(signed(params.bits), params.values))),
        )

    def build(self, m: Module) -> None:
        terms = [getattr(self, f"i_{k}") for k in range(len(self.params.terms))]
        everyone = reduce(lambda a, b: a & b, (term.valid for term in terms))
        advance = ~self.o.valid | self.o.ready
        sums = Signal(self.o.payload.shape(), reset_less=True)
        m.d.comb += [term.ready.eq(everyone & advance) for term in terms]
        m.d.comb += self.o.payload.eq(sums)
        with m.If(advance):
            m.d.sync += self.o.valid.eq(everyone)
            for k in range(self.params.values):
                total = reduce(add, (term.payload[k] for term in terms))
                m.d.sync += sums[k].eq(low_bits(total, self.params.bits))
