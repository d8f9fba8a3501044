"""Multiplies one bit plane with numbers and adds up the products, by a cascade of DSP slices."""

from amaranth.hdl import C, Cat, ClockSignal, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import delay, signed_array
from hdl.common.checks import check_range
from hdl.common.component import Component
from hdl.common.dsp48e2 import DSP_BITS, Accumulation, gated_adder
from hdl.common.params import Params, whole

MAX_SLICES = 8  #: most slices of a cascade: each one adds a cycle


class CascadeParams(Params):
    """Sets the sizes of a cascade of DSP slices."""

    inputs: int = whole(1, 4 * MAX_SLICES)  #: number of numbers that are added
    paired: bool = False  #: whether a slice adds two pairs of numbers, whose sums it is given
    bits: int  #: width of a number
    total_bits: int = whole(1, DSP_BITS)  #: width of the sum, which never overflows
    start: int | None = None  #: where an accumulated sum begins; None: sums are not accumulated

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("bits", self.bits, 1, self.total_bits)
        check_range("inputs", self.inputs, 1, self.each * MAX_SLICES)

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: inputs, width, and accumulation."""
        accumulated = "" if self.start is None else f"_acc{self.total_bits}_{self.start}"
        return f"{self.inputs}x{self.bits}" + "_paired" * self.paired + accumulated

    @property
    def each(self) -> int:
        """Return the number of numbers that a slice adds."""
        return 4 if self.paired else 2

    @property
    def sums(self) -> data.ArrayLayout:
        """Describe the sums of pairs of numbers."""
        return signed_array(self.bits + 1, -(-self.inputs // 2))

    @property
    def slices(self) -> int:
        """Return the number of DSP slices in the cascade."""
        return -(-self.inputs // self.each)

    @property
    def latency(self) -> int:
        """Return the number of cycles from the gates to the sum: one, and one a slice."""
        return 1 + self.slices

    def skew(self, k: int) -> int:
        """Return by how many cycles value ``k`` comes after its gate."""
        return k // self.each


def cascade(inputs: int, bits: int, paired: bool = False) -> CascadeParams:
    """Return the sizes of a cascade that only adds.

    The sum has one bit more than the inputs need, because the most negative sum may be negated.
    """
    total_bits = bits + ceil_log2(inputs) + 1
    return CascadeParams(inputs=inputs, bits=bits, total_bits=total_bits, paired=paired)


class DspCascade(Component):
    """Computes ``total``, plus or minus the sum of gated ``values`` (P4SGD, section 4.1.3).

    A DSP48E2 adds two gated numbers to its cascade input. ``gates`` and ``negate`` come in the same
    cycle; ``values[k]`` come ``params.skew(k)`` cycles later, when the cascade reaches their slice.
    A memory is read with this skew, so that no registers are needed in between. With ``paired``
    each of the two is chosen by the gates of a pair from zero, either value, and their sum, which
    comes with the values in ``sums``.

    With ``params.start`` the last slice accumulates sums with ``valid``: ``total`` begins at
    ``start`` with ``first``, and does not change in cycles without ``valid``; ``negate`` must be
    zero.

    Throughput: one sum a cycle, never stalls. Latency: ``params.latency`` cycles from ``gates``.
    """

    def __init__(self, params: CascadeParams) -> None:
        super().__init__(
            params,
            gates=In(params.inputs),
            negate=In(1),
            values=In(signed_array(params.bits, params.inputs)),
            **({"sums": In(params.sums)} if params.paired else {}),
            **({} if params.start is None else {"valid": In(1), "first": In(1)}),
            total=Out(signed(params.total_bits)),
        )

    def build(self, m: Module) -> None:
        slices = self.params.slices
        from_above = None
        total = Signal(DSP_BITS)
        for k in range(slices):
            last = k == slices - 1
            gates, values = self.operands(m, k)
            so_far = total if last else Signal(DSP_BITS, name=f"total_{k}")
            below = Signal(DSP_BITS, name=f"down_{k}")
            m.submodules[f"slice_{k}"] = gated_adder(
                clock=ClockSignal(),
                gates=gates,
                values=values,
                negate=delay(m, self.negate, k, f"negate_{k}"),
                cascade_in=from_above,
                cascade_out=below,
                total=so_far,
                accumulation=self.accumulation(m) if last else None,
            )
            from_above = below
        m.d.comb += self.total.eq(total[: self.params.total_bits])

    def operands(self, m: Module, k: int) -> tuple[tuple[Value, Value], tuple[Value, Value]]:
        """Return the gates and the values of slice ``k``; what is chosen of a pair has no gate."""
        params = self.params
        first = k * params.each
        gates = delay(m, self.gates[first : first + params.each], k, f"gates_{k}")
        present = range(min(params.each, params.inputs - first))
        values: list[Value] = [self.values[first + i] for i in present]
        if params.paired:
            gates, values = Cat(gates, C(0, 1)), [*values, C(0, 1)]
            values = [
                Mux(
                    gates[i + 1],
                    Mux(gates[i], self.sums[(first + i) // 2], values[i + 1]),
                    Mux(gates[i], values[i], 0),
                )
                for i in present[::2]
            ]
            gates = C((1 << len(values)) - 1, 2)
        if len(values) == 1:
            return (gates[0], C(0, 1)), (values[0], C(0, params.bits))
        return (gates[0], gates[1]), (values[0], values[1])

    def accumulation(self, m: Module) -> Accumulation | None:
        """Return how the last slice accumulates, or None."""
        if self.params.start is None:
            return None
        valid = delay(m, self.valid, self.params.slices, "valid", reset_less=False)
        first = delay(m, self.first, self.params.slices - 1, "first")
        return Accumulation(valid=valid, first=first, start=self.params.start)
