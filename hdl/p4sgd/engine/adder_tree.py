"""Multiplies one bit plane with numbers and adds up the products, by a gated adder tree."""

from functools import reduce
from operator import add

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import low_bits, signed_array
from hdl.common.component import Component
from hdl.common.params import Params, whole


class TreeParams(Params, suffix="{inputs}x{bits}"):
    """Sets the sizes of a gated adder tree."""

    inputs: int = whole(1)  #: number of numbers to add
    bits: int = whole(1)  #: width of a number

    @property
    def total_bits(self) -> int:
        """Return the width of the sum, which never overflows."""
        return self.bits + ceil_log2(self.inputs)

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """Return how many numbers are left after each level: 64 inputs give 32, 11, 4, 2, 1."""
        sizes = [-(-self.inputs // 2)]
        while sizes[-1] > 1:
            sizes.append(-(-sizes[-1] // 3))
        return tuple(sizes)

    @property
    def latency(self) -> int:
        """Return the number of cycles from gates and values to their sum: one a level."""
        return len(self.level_sizes)


class GatedAdderTree(Component):
    """Computes ``total``, the sum of the ``values[i]`` whose gate is one (P4SGD, section 4.1.3).

    A bit-serial multiplier is an AND of a feature's bit with a number, and the AND merges into
    the first adder, so ``inputs`` multipliers and their tree cost ``inputs - 1`` adders or less.
    The first level adds two gated numbers, each later level three (a three-input adder takes no
    more LUTs than a two-input one on UltraScale+). A register follows each level.

    Throughput: one sum a cycle, never stalls. Latency: :attr:`TreeParams.latency` cycles.
    """

    def __init__(self, params: TreeParams) -> None:
        super().__init__(
            params,
            gates=In(params.inputs),
            values=In(signed_array(params.bits, params.inputs)),
            total=Out(signed(params.total_bits)),
        )

    def build(self, m: Module) -> None:
        terms = [Mux(self.gates[i], self.values[i], 0) for i in range(self.params.inputs)]
        radix = 2
        for level, size in enumerate(self.params.level_sizes):
            groups = [terms[i : i + radix] for i in range(0, len(terms), radix)]
            bits = min(self.params.total_bits, self.params.bits + 2 * level + 1)
            sums = [
                Signal(signed(bits), name=f"sum_{level}_{i}", reset_less=True) for i in range(size)
            ]
            m.d.sync += [
                total.eq(low_bits(reduce(add, group), bits))
                for total, group in zip(sums, groups, strict=True)
            ]
            terms, radix = sums, 3
        m.d.comb += self.total.eq(terms[0])
