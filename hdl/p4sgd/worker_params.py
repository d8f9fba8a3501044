"""Describes the sizes of a worker, and the losses that it knows."""

from dataclasses import field

from amaranth.hdl import signed
from amaranth.lib import data, enum
from amaranth.utils import bits_for, ceil_log2

from hdl.common.checks import check_range, is_power_of_two
from hdl.common.params import Params, same_as, tagged, whole
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
PRECISION_BITS = 5  #: width of the number of a feature's planes
MAX_PORTS = 64  #: most memory ports: those of words, and that of labels
TAIL_BITS = 5  #: width of the number of samples of an epoch's last micro-batch
TILE_BITS = 3  #: width of the logarithm of the number of a tile's micro-batches
CHUNK_COUNT_BITS = 17  #: width of the number of an engine's chunks

LOSS_SETTINGS = data.StructLayout(
    {
        "loss": Loss,
        "mantissa": signed(18),  # step = mantissa * 2^-exponent
        "exponent": 6,  # 1..63
    }
)


class WorkerParams(Params, suffix="{engines}x{engine.suffix}"):
    """Sets the sizes of a worker (P4SGD, section 4.1): engines in lock step, and their memory."""

    engines: int = whole(1, 16, default=8)  #: N, number of engines
    #: number of classes that are trained in one pass, each with a model of its own
    classes: int = whole(1, 16, default=1, tag="_m{}")
    engine: EngineParams = field(default_factory=EngineParams)
    #: width of a memory port's byte address; an HBM channel has 28
    address_bits: int = whole(16, ADDRESS_BITS, default=28, tag="_a{}")
    #: most beats in flight or buffered at a port
    prefetch_beats: int = whole(32, 4096, power_of_two=True, default=256, tag="_p{}")
    #: most AllReduces under way
    slots: int = same_as(TransportParams, "slots", default=256, tag="_n{}")
    #: whether the switch has shadow copies of sums, so that nothing is acknowledged
    shadow: bool = tagged("_shadow", default=False)
    #: number of dies over which the engines are distributed, at most engines
    slrs: int = whole(1, 3, default=1, tag="_slr{}")
    #: number of registers in each direction between neighbouring dies
    slr_stages: int = whole(1, 4, default=2, tag="_x{}")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.engines % self.classes:
            raise ValueError(
                f"engines must be a multiple of classes, because each class has as many:"
                f" {self.engines} engines, {self.classes} classes"
            )
        if self.engine.max_tile and self.classes > 1:
            raise ValueError(
                f"classes must be 1 with max_tile, where weights take memory ports: {self.classes}"
            )
        if self.slrs > self.sets:
            raise ValueError(
                f"slrs must be at most engines / classes, as each die needs an engine of each"
                f" class: {self.slrs} dies, {self.engines} engines, {self.classes} classes"
            )
        if not is_power_of_two(self.engine.banks):
            raise ValueError(
                f"banks must be a power of two in a worker, because labels fill beats:"
                f" {self.engine.banks}"
            )
        if self.engine.max_tile and self.slrs > 1:
            raise ValueError(f"slrs must be 1 with max_tile: {self.slrs}")
        if self.engine.max_tile and self.prefetch_beats < 4 * self.chunk_beats:
            raise ValueError(
                f"prefetch_beats must be at least {4 * self.chunk_beats} with max_tile, the weights"
                f" of four chunks: {self.prefetch_beats}"
            )
        if self.memory_ports > MAX_PORTS:
            raise ValueError(
                f"engines x ports must be below {MAX_PORTS}, the memory ports that a worker has in"
                f" all: {self.readers} x {self.ports}, because a word of {self.engine.banks} x"
                f" {self.engine.lanes} bits takes {self.ports} ports"
            )
        if self.engine.weight_bits != LABEL_BITS:
            raise ValueError(
                f"weight_bits must be {LABEL_BITS} in a worker, which is the width of labels in"
                " memory"
            )
        check_range(
            "fraction_bits",
            self.engine.fraction_bits,
            8,
            26,
            " in a worker, for the sigmoid's table",
        )

    @property
    def settings(self) -> data.StructLayout:
        """Describe the engines' settings as the host writes them, wide enough for any size."""
        widths = {
            "bits": PRECISION_BITS,
            "chunks": CHUNK_COUNT_BITS,
            "tail_samples": TAIL_BITS,
            "tile": TILE_BITS,
        }
        return data.StructLayout(dict(self.engine.settings.members) | widths)

    @property
    def sum_bits(self) -> int:
        """Return the width of a sample's sum over all engines of a class, which is exact."""
        return self.engine.bank.partial_bits + ceil_log2(self.sets)

    @property
    def sets(self) -> int:
        """Return the number of sets of engines: an engine of each class, with the same words.

        Engine number ``set * classes + class`` trains a class on the features of a set.
        """
        return self.engines // self.classes

    @property
    def engine_index(self) -> range:
        """Return the range of an engine's number, as the shape of a field."""
        return range(max(2, self.engines))

    @property
    def groups(self) -> tuple[range, ...]:
        """Return the engines' numbers in each die: whole sets, evenly distributed, most last.

        The first die has all else, too.
        """
        ends = [self.sets * (k + 1) // self.slrs * self.classes for k in range(self.slrs)]
        return tuple(range(a, b) for a, b in zip([0, *ends], ends, strict=False))

    def sums(self, engines: int) -> data.ArrayLayout:
        """Describe a micro-batch's exact partial activations, added over engines of a class."""
        bits = self.engine.bank.partial_bits + ceil_log2(engines)
        return data.ArrayLayout(signed(bits), self.engine.banks)

    @property
    def fifo_bits(self) -> int:
        """Return the width of a number of words in a word FIFO."""
        return bits_for(self.engine.fifo_words)

    @property
    def transport(self) -> TransportParams:
        """Return the sizes of the network transport."""
        return TransportParams(slots=self.slots, shadow=self.shadow)

    @property
    def ports(self) -> int:
        """Return the number of memory ports that carry the words of one engine side by side."""
        return -(-self.engine.word_bits // PORT_BITS)

    @property
    def chunk_beats(self) -> int:
        """Return the number of beats of memory that the weights of a chunk take."""
        return self.engine.model.weights.size // PORT_BITS

    @property
    def weight_address_bits(self) -> int:
        """Return the width of a byte address in the memory of an engine's weights: two copies."""
        chunk = self.engine.model.weights.size // 8
        return 1 + self.engine.model.chunk_bits + ceil_log2(chunk)

    @property
    def readers(self) -> int:
        """Return the number of readers of words, one a set: with a model in memory two."""
        return 2 * self.sets if self.engine.max_tile else self.sets

    @property
    def movers(self) -> int:
        """Return the number of engines whose weights are in memory: all or none."""
        return self.engines if self.engine.max_tile else 0

    @property
    def memory_ports(self) -> int:
        """Return the number of memory ports: of words, of labels, of weights."""
        return self.readers * self.ports + 1 + self.movers

    @property
    def frames(self) -> int:
        """Return the number of packets that carry a class's activations of a micro-batch."""
        return -(-self.engine.banks // self.transport.lanes)

    @property
    def packets(self) -> int:
        """Return the number of packets that carry the activations of a micro-batch."""
        return self.classes * self.frames
