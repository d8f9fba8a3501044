"""Computes the logistic sigmoid by a table with linear interpolation."""

from itertools import pairwise
from math import exp, floor

from amaranth.hdl import C, Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register, delay
from hdl.common.component import Component
from hdl.p4sgd.worker_params import WorkerParams

RANGE_BITS = 4  #: the table covers |x| < 16
SEGMENT_BITS = 5  #: log2 of the number of segments in a unit of x
SEGMENTS = 1 << (RANGE_BITS + SEGMENT_BITS)


def table(fraction_bits: int) -> list[tuple[int, int]]:
    """Return the sigmoid at the start of each segment, and its rise to the next one's."""
    ends = [
        floor(2**fraction_bits / (1 + exp(-i / 2**SEGMENT_BITS)) + 0.5) for i in range(SEGMENTS + 1)
    ]
    return [(low, high - low) for low, high in pairwise(ends)]


class Sigmoid(Component):
    """Computes ``1 / (1 + exp(-x))`` as ``value``, or as ``1 - value`` where ``mirrored`` is high.

    ``value`` is the sigmoid of ``|x|``: interpolated in 512 segments below 16, one from there on.
    The table's chord lies below the curve by at most ``h^2 / 8 * max|f''| = 2^-10 / 8 * 0.0963 =
    1.18e-5``; rounding adds one unit of the last place for the table and half a unit for the
    result.

    Throughput: one value a cycle, never stalls. Latency: :attr:`latency` cycles.
    """

    latency = 4

    def __init__(self, params: WorkerParams) -> None:
        engine = params.engine
        super().__init__(
            params,
            x=In(signed(engine.weight_bits)),
            value=Out(unsigned(engine.fraction_bits + 1)),
            mirrored=Out(1),
        )

    def build(self, m: Module) -> None:
        fraction_bits = self.params.engine.fraction_bits
        offset_bits = fraction_bits - SEGMENT_BITS
        index_bits = RANGE_BITS + SEGMENT_BITS
        entries = table(fraction_bits)
        rise_bits = max(rise for _, rise in entries).bit_length()
        m.submodules.table = rom = Memory(
            shape=unsigned(fraction_bits + 1 + rise_bits),
            depth=SEGMENTS,
            init=[low | rise << (fraction_bits + 1) for low, rise in entries],
        )
        entry = rom.read_port()

        magnitude = Signal(unsigned(self.params.engine.weight_bits), reset_less=True)
        negative = Signal(reset_less=True)
        product = Signal(unsigned(offset_bits + rise_bits), reset_less=True)
        offset = delay(m, magnitude[:offset_bits], 1, "offset")
        beyond = magnitude[offset_bits + index_bits :].any()
        beyond = delay(m, beyond, 2, "beyond")
        m.d.comb += [
            entry.addr.eq(magnitude[offset_bits : offset_bits + index_bits]),
            self.mirrored.eq(delay(m, negative, 3, "negative")),
        ]
        low, rise = entry.data[: fraction_bits + 1], entry.data[fraction_bits + 1 :]
        base = delay(m, low, 1, "base")
        half = C(1 << (offset_bits - 1), offset_bits)
        interpolated = (Cat(half, base) + product)[offset_bits:]
        m.d.sync += [
            magnitude.eq(Mux(self.x < 0, -self.x, self.x)[: len(self.x)]),
            negative.eq(self.x < 0),
            product.eq(rise * offset),
            data_register(m, self.value).eq(
                Mux(beyond, 1 << fraction_bits, interpolated)[: fraction_bits + 1]
            ),
        ]
