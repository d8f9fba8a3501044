"""Describes the sizes of a worker, and the losses that it knows."""

from dataclasses import dataclass, field

from amaranth.hdl import signed
from amaranth.lib import data, enum
from amaranth.utils import bits_for, ceil_log2

from hdl.common.checks import check_range, is_power_of_two
from hdl.p4sgd.engine.params import (
    LABEL_BITS,
    PORT_BITS,
    EngineParams,
)
from hdl.p4sgd.transport.params import TransportParams


class Loss(enum.Enum, shape=2):
    """Names the losses that the hardware knows (P4SGD, section 2: generalized linear models)."""

    LINEAR = 0
    LOGISTIC = 1
    HINGE = 2


# Widths of fields that the host writes, the same for all sizes.
ADDRESS_BITS = 40  #: width of a byte address on a memory port
PRECISION_BITS = 4  #: width of the number of a feature's planes
CHUNK_COUNT_BITS = 17  #: width of the number of an engine's chunks

LOSS_SETTINGS = data.StructLayout(
    {
        "loss": Loss,
        "mantissa": signed(18),  # step = mantissa * 2^-exponent
        "exponent": 6,  # 1..63
    }
)


@dataclass(frozen=True, kw_only=True)
class WorkerParams:
    """Sets the sizes of a worker (P4SGD, section 4.1): engines in lock step, and their memory."""

    engines: int = 8  #: N, number of engines, 1..8
    engine: EngineParams = field(default_factory=EngineParams)
    address_bits: int = 28  #: width of a memory port's byte address, 16..40; an HBM channel has 28
    prefetch_beats: int = 256  #: most beats in flight or buffered at a port, a power of two, >= 32
    slots: int = 256  #: most AllReduces under way, 2..4096
    slrs: int = 1  #: number of dies over which the engines are distributed, 1..3, at most engines
    slr_stages: int = 2  #: number of registers in each direction between neighbouring dies, 1..4

    def __post_init__(self) -> None:
        for name, low, high in (
            ("engines", 1, 8),
            ("address_bits", 16, ADDRESS_BITS),
            ("slots", 2, 4096),
            ("slrs", 1, 3),
            ("slr_stages", 1, 4),
        ):
            check_range(name, getattr(self, name), low, high)
        if self.slrs > self.engines:
            raise ValueError(
                f"slrs must be at most engines, as each die needs an engine: {self.slrs} dies,"
                f" {self.engines} engines"
            )
        if not is_power_of_two(self.engine.banks):
            raise ValueError(
                f"banks must be a power of two in a worker, because 8 labels make a beat:"
                f" {self.engine.banks}"
            )
        if self.engine.word_bits not in (PORT_BITS, 2 * PORT_BITS):
            raise ValueError(
                f"banks x lanes must be {PORT_BITS} or {2 * PORT_BITS}, one or two memory ports:"
                f" {self.engine.banks} x {self.engine.lanes} = {self.engine.word_bits};"
                f" {PORT_BITS // self.engine.banks} or {2 * PORT_BITS // self.engine.banks}"
                f" lanes fit {self.engine.banks} banks"
            )
        if self.engine.weight_bits != LABEL_BITS:
            raise ValueError(
                f"weight_bits must be {LABEL_BITS} in a worker, which is the width of labels in"
                " memory"
            )
        if not is_power_of_two(self.prefetch_beats) or not 32 <= self.prefetch_beats <= 4096:
            raise ValueError(
                f"prefetch_beats must be a power of two from 32 to 4096: {self.prefetch_beats}"
            )

        if not 8 <= self.engine.fraction_bits <= 26:
            raise ValueError(
                f"fraction_bits must be from 8 to 26 in a worker, for the sigmoid's table:"
                f" {self.engine.fraction_bits}"
            )

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: number and sizes of engines, and unusual sizes."""
        usual = WorkerParams()
        parts = [f"{self.engines}x{self.engine.suffix}"]
        if self.address_bits != usual.address_bits:
            parts.append(f"a{self.address_bits}")
        if self.prefetch_beats != usual.prefetch_beats:
            parts.append(f"p{self.prefetch_beats}")
        if self.slots != usual.slots:
            parts.append(f"n{self.slots}")
        if self.slrs != usual.slrs:
            parts.append(f"slr{self.slrs}")
        if self.slr_stages != usual.slr_stages:
            parts.append(f"x{self.slr_stages}")
        return "_".join(parts)

    @property
    def settings(self) -> data.StructLayout:
        """Describe the engines' settings as the host writes them, wide enough for any size."""
        widths = {"bits": PRECISION_BITS, "chunks": CHUNK_COUNT_BITS}
        return data.StructLayout(dict(self.engine.settings.members) | widths)

    @property
    def sum_bits(self) -> int:
        """Return the width of a sample's sum over all engines, which is exact."""
        return self.engine.bank.partial_bits + ceil_log2(self.engines)

    @property
    def engine_index(self) -> range:
        """Return the range of an engine's number, as the shape of a field."""
        return range(max(2, self.engines))

    @property
    def groups(self) -> tuple[range, ...]:
        """Return the engines' numbers in each die: evenly distributed, larger groups first."""
        each, more = divmod(self.engines, self.slrs)
        ends = [each * (k + 1) + min(more, k + 1) for k in range(self.slrs)]
        return tuple(range(a, b) for a, b in zip([0, *ends], ends, strict=False))

    def sums(self, engines: int) -> data.ArrayLayout:
        """Describe the exact partial activations of a micro-batch, added over some engines."""
        bits = self.engine.bank.partial_bits + ceil_log2(engines)
        return data.ArrayLayout(signed(bits), self.engine.banks)

    @property
    def fifo_bits(self) -> int:
        """Return the width of a number of words in a word FIFO."""
        return bits_for(self.engine.fifo_words)

    @property
    def transport(self) -> TransportParams:
        """Return the sizes of the network transport."""
        return TransportParams(slots=self.slots)

    @property
    def ports(self) -> int:
        """Return the number of memory ports that carry the words of one engine side by side."""
        return self.engine.word_bits // PORT_BITS
