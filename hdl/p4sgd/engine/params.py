"""The sizes of an engine, checked where they are made."""

from dataclasses import dataclass

from amaranth.hdl import signed
from amaranth.lib import data
from amaranth.utils import bits_for, ceil_log2

from hdl.p4sgd.engine.adder_tree import TreeParams
from hdl.p4sgd.engine.columns import Column, columns
from hdl.p4sgd.engine.dsp_cascade import MOST_SLICES, CascadeParams, cascade

BURST_BEATS = 16  #: most beats of an AXI3 burst, which HBM ports take
PORT_BITS = 256  #: width of an HBM port
LABEL_BITS = 32
GROUP_LANES = 8  #: weights of one host access: a 256-bit beat of 32-bit weights


def is_power_of_two(value: int) -> bool:
    """True of 1, 2, 4, ..."""
    return value > 0 and value & (value - 1) == 0


def check_range(name: str, value: object, low: int, high: int) -> None:
    """Raise ValueError unless ``value`` is a whole number in the range."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}: {value!r}")


@dataclass(frozen=True, kw_only=True)
class EngineParams:
    """Sizes of one engine (P4SGD, section 4.1.2)."""

    banks: int = 8  #: K, samples of a micro-batch, 1..8
    lanes: int = 64  #: L, features of a chunk, at least 1
    max_bits: int = 8  #: largest precision s of a feature, 1..8
    weight_bits: int = 32  #: width of a weight, an activation and a delta, 8..32
    fraction_bits: int = 23  #: fraction bits of the same, below weight_bits
    chunks: int = 4096  #: chunks that the model memory holds, at least 1
    fifo_words: int = 4096  #: words between forward and backward, at least 8
    l2: bool = False  #: build the L2 term of the update
    data_parallel: bool = False  #: build data parallelism, without the L2 term
    dsp: bool = False  #: gate and add in DSP48E2 slices, otherwise in LUTs

    def __post_init__(self) -> None:
        for name, low, high in (
            ("banks", 1, 8),
            ("lanes", 1, 512),
            ("max_bits", 1, 8),
            ("weight_bits", 8, 32),
            ("chunks", 1, 1 << 16),
            ("fifo_words", 8, 1 << 16),
        ):
            check_range(name, getattr(self, name), low, high)
        check_range("fraction_bits", self.fraction_bits, 1, self.weight_bits - 2)
        for name in ("l2", "data_parallel", "dsp"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false: {getattr(self, name)!r}")
        if self.l2 and self.data_parallel:
            raise ValueError(
                "l2 and data_parallel exclude each other: nobody has the model that would decay"
            )

    @property
    def suffix(self) -> str:
        """Every size that shapes the hardware, the usual ones left out."""
        usual = EngineParams()
        extras = {
            "b": (self.max_bits, usual.max_bits),
            "w": (self.weight_bits, usual.weight_bits),
            "q": (self.fraction_bits, usual.fraction_bits),
            "c": (self.chunks, usual.chunks),
            "f": (self.fifo_words, usual.fifo_words),
        }
        parts = [f"{self.banks}x{self.lanes}"]
        parts += [f"{key}{value}" for key, (value, default) in extras.items() if value != default]
        options = {"l2": self.l2, "dp": self.data_parallel, "dsp": self.dsp}
        return "_".join(parts + [name for name, built in options.items() if built])

    @property
    def word_bits(self) -> int:
        """One bit plane of one chunk of all samples of a micro-batch."""
        return self.banks * self.lanes

    @property
    def bits_bits(self) -> int:
        """Wide enough to hold max_bits."""
        return bits_for(self.max_bits)

    @property
    def forward_tree(self) -> TreeParams:
        """A bank's tree: the weights of a chunk, gated by the bits of a plane."""
        return TreeParams(inputs=self.lanes, bits=self.weight_bits)

    @property
    def backward_tree(self) -> TreeParams:
        """A lane's tree: the scaled deltas of a micro-batch, gated by the lane's bits."""
        return TreeParams(inputs=self.banks, bits=self.scaled_bits)

    @property
    def bank_cascades(self) -> int:
        """DSP cascades of a bank, as long as they may be; a tree adds their sums."""
        return -(-self.lanes // (2 * MOST_SLICES))

    @property
    def bank_cascade(self) -> CascadeParams:
        """One of them."""
        return cascade(2 * -(-self.lanes // (2 * self.bank_cascades)), self.weight_bits)

    @property
    def gradient_cascade(self) -> CascadeParams:
        """A lane's cascade: as its tree, and adds up the planes from one half on."""
        return CascadeParams(
            inputs=self.banks,
            bits=self.scaled_bits,
            total_bits=self.gradient_bits,
            start=1 << (self.max_bits - 1),
        )

    def weight_skew(self, lane: int) -> int:
        """Cycles by which a bank takes the weight of ``lane`` after its bits of a plane."""
        return lane // (2 * self.bank_cascades) if self.dsp else 0

    def delta_skew(self, bank: int) -> int:
        """Cycles by which a lane takes the scaled delta of ``bank`` after its bit of a plane."""
        return self.gradient_cascade.skew(bank) if self.dsp else 0

    @property
    def sum_latency(self) -> int:
        """Cycles from a plane to what is left to add in a bank: a tree's sum, or two terms."""
        if self.dsp:
            return self.bank_cascade.latency + max(0, ceil_log2(self.bank_cascades) - 1)
        return self.forward_tree.latency

    @property
    def bank_latency(self) -> int:
        """Cycles from a plane to the bank's sum: plane sum, Horner, chunks."""
        return self.sum_latency + 2

    @property
    def gradient_latency(self) -> int:
        """Cycles from a plane to the gradient: tree and planes, or the cascade, which has both."""
        return self.gradient_cascade.latency if self.dsp else self.backward_tree.latency + 1

    @property
    def update_lead(self) -> int:
        """Cycles by which the update wants a weight before its gradient: the L2 term takes one."""
        return int(self.l2)

    @property
    def update_loop(self) -> int:
        """Cycles from a chunk's update in a micro-batch to the next one's, at least: its way from
        the model memory, through the lanes and back.
        """
        return 5 + self.update_lead

    @property
    def chunk_bits(self) -> int:
        """Index of a chunk."""
        return max(1, ceil_log2(self.chunks))

    @property
    def weight(self) -> data.ArrayLayout:
        """The weights of a chunk, lane 0 first."""
        return data.ArrayLayout(signed(self.weight_bits), self.lanes)

    @property
    def model_bits(self) -> int:
        """All weights of a chunk."""
        return self.lanes * self.weight_bits

    @property
    def model_columns(self) -> tuple[Column, ...]:
        """The architectural copy, cut where UltraRAMs end."""
        lanes = 2 * self.bank_cascades if self.dsp else self.lanes
        return columns(self.model_bits, lanes * self.weight_bits)

    @property
    def word(self) -> data.ArrayLayout:
        """One bit of every lane, for every bank."""
        return data.ArrayLayout(self.lanes, self.banks)

    @property
    def plane_sum_bits(self) -> int:
        """A plane's sum over the lanes of a bank: exact."""
        return self.weight_bits + ceil_log2(self.lanes)

    @property
    def partial_bits(self) -> int:
        """A sample's sum over planes and chunks of an engine: exact."""
        return self.plane_sum_bits + self.max_bits + ceil_log2(self.chunks)

    @property
    def partials(self) -> data.ArrayLayout:
        """The exact partial activations of a micro-batch, in units of the last plane."""
        return data.ArrayLayout(signed(self.partial_bits), self.banks)

    @property
    def activations(self) -> data.ArrayLayout:
        """Rounded activations, labels or deltas of a micro-batch."""
        return data.ArrayLayout(signed(self.weight_bits), self.banks)

    @property
    def lengths(self) -> data.StructLayout:
        """How many micro-batches a mini-batch and an epoch have."""
        return data.StructLayout({"batch_micro_batches": 16, "epoch_micro_batches": 32})

    @property
    def settings(self) -> data.StructLayout:
        """What the host sets for a run; it holds still while the engine works."""
        return data.StructLayout(
            {
                "bits": self.bits_bits,  # s, precision of a feature, 1..max_bits
                "signed_features": 1,  # plane 0 weighs -1, plane k 2^-k; else plane k 2^-(k+1)
                "chunks": bits_for(self.chunks),  # C
                **self.lengths.members,  # a mini-batch has B / K
                "tail_samples": 4,  # samples of an epoch's last micro-batch, 1..K
                "epochs": 32,
                "l2_shift": 5,  # r of the L2 term, 0 turns it off
                "data_parallel": 1,  # models are exchanged after each mini-batch
                "from_zero": 1,  # and the updates of a mini-batch begin at zero
            }
        )

    @property
    def position(self) -> data.StructLayout:
        """Where a word stands in its micro-batch."""
        return data.StructLayout(
            {
                "first_plane": 1,
                "second_plane": 1,
                "last_plane": 1,
                "first_chunk": 1,
                "last_chunk": 1,
                "chunk": self.chunk_bits,
            }
        )

    @property
    def micro_batch(self) -> data.StructLayout:
        """Where a micro-batch stands in the run."""
        return data.StructLayout(
            {
                "first": 1,  # of its mini-batch
                "last": 1,  # of its mini-batch
                "final": 1,  # of the run
                "present": self.banks,  # samples that exist
            }
        )

    @property
    def deltas(self) -> data.StructLayout:
        """The deltas of a micro-batch, with what the update has to know of it."""
        return data.StructLayout({"delta": self.activations, "first": 1, "last": 1, "final": 1})

    @property
    def group_bits(self) -> int:
        """Index of a group of eight lanes, what one host access covers."""
        return max(1, ceil_log2(-(-self.lanes // GROUP_LANES)))

    @property
    def address(self) -> data.StructLayout:
        """A group of eight weights in the model memory."""
        return data.StructLayout({"chunk": self.chunk_bits, "group": self.group_bits})

    @property
    def group(self) -> data.ArrayLayout:
        """Eight weights as the host sees them, lane 0 first."""
        return data.ArrayLayout(signed(self.weight_bits), GROUP_LANES)

    @property
    def load(self) -> data.StructLayout:
        """Eight weights and where they go."""
        return data.StructLayout(
            {"chunk": self.chunk_bits, "group": self.group_bits, "weights": self.group}
        )

    @property
    def probe_steps(self) -> int:
        """Words that read back a group, one weight a bank each."""
        return -(-GROUP_LANES // self.banks)

    @property
    def probe(self) -> data.StructLayout:
        """The weights that one word reads back: lanes group * 8 + step * banks + bank."""
        return data.StructLayout(
            {
                "chunk": self.chunk_bits,
                "group": self.group_bits,
                "step": max(1, ceil_log2(self.probe_steps)),
            }
        )

    @property
    def events(self) -> data.StructLayout:
        """What a cycle of an engine was spent on; counters add these up."""
        return data.StructLayout(
            {
                "word": 1,  # a word was taken
                "memory_stall": 1,  # no word was there
                "network_stall": 1,  # backward stood still, waiting for a full activation
                "dependency_stall": 1,  # the chunk was not updated yet
                "fifo_stall": 1,  # the word FIFO was full
                "model_saturation": 1,  # a chunk update in which a lane saturated
            }
        )

    @property
    def scaled_bits(self) -> int:
        """A delta times the weight of any plane, with max_bits fraction bits: exact.

        The most negative delta on a signed plane 0 is negated, which takes one bit more.
        """
        return self.weight_bits + self.max_bits + 1

    @property
    def gradient_bits(self) -> int:
        """A lane's sum over banks and planes, with max_bits fraction bits: exact."""
        return self.scaled_bits + ceil_log2(self.banks) + 1
