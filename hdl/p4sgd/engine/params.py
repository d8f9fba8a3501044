"""Describes the sizes of an engine, and checks them where they are made."""

from typing import Any

from amaranth.hdl import signed
from amaranth.lib import data
from amaranth.utils import bits_for, ceil_log2, exact_log2

from hdl.common.checks import check_range, is_power_of_two
from hdl.common.dsp48e2 import DSP_BITS
from hdl.common.params import Params, tagged, whole
from hdl.p4sgd.engine.bank_params import BankParams
from hdl.p4sgd.engine.gradient_params import GradientParams
from hdl.p4sgd.engine.model_params import ModelParams

BURST_BEATS = 16  #: most beats of an AXI3 burst, the kind that HBM ports take
PORT_BITS = 256  #: width of an HBM port
LABEL_BITS = 32  #: width of a label in memory
UPDATE_CYCLES = 2  #: cycles from a gradient to the updated weight

#: Describes how many micro-batches a mini-batch and an epoch have.
LENGTHS = data.StructLayout({"batch_micro_batches": 16, "epoch_micro_batches": 32})
#: Describes the settings of a schedule.
SCHEDULE = data.StructLayout({**LENGTHS.members, "epochs": 32})


def take_settings(part: Any, settings: data.View) -> list[Any]:
    """Return assignments of those of ``settings`` that a part has."""
    return [part.settings[name].eq(settings[name]) for name in part.settings.shape().members]


class EngineParams(Params, suffix="{banks}x{lanes}"):
    """Sets the sizes of one engine (P4SGD, section 4.1.2), and describes the bundles at its ports.

    Sizes that follow for one of its parts are properties of that part's parameters: :attr:`bank`,
    :attr:`gradient` and :attr:`model`.
    """

    banks: int = whole(1, 16, default=8)  #: K, number of samples of a micro-batch
    lanes: int = whole(1, 512, default=64)  #: L, number of features of a chunk
    max_bits: int = whole(1, 16, default=8, tag="_b{}")  #: largest precision s of a feature
    #: width of a weight, an activation and a delta
    weight_bits: int = whole(8, 32, default=32, tag="_w{}")
    #: fraction bits of weights, activations and deltas, at most weight_bits - 2
    fraction_bits: int = whole(1, 30, default=23, tag="_q{}")
    #: number of chunks that the model memory holds
    chunks: int = whole(1, 1 << 16, default=4096, tag="_c{}")
    #: most words waiting between forward and backward stage
    fifo_words: int = whole(8, 1 << 16, default=16384, tag="_f{}")
    l2: bool = tagged("_l2", default=False)  #: whether the L2 term of the update is built
    #: whether data parallelism is built, without the L2 term
    data_parallel: bool = tagged("_dp", default=False)
    #: whether both copies of the model are in one array, for precisions from 2 bits on
    ping_pong: bool = tagged("_pp", default=False)
    #: whether DSP48E2 slices gate and add, otherwise LUTs
    dsp: bool = tagged("_dsp", default=False)
    #: whether banks share sums of pairs of weights, which halves their slices
    pair_sums: bool = tagged("_ps", default=False)
    #: most micro-batches of a tile, which share a read of the weights; the model then lies in
    #: memory, while with 0 it is in the engine
    max_tile: int = whole(1, 16, default=0, power_of_two=True, or_zero=True, tag="_t{}")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("fraction_bits", self.fraction_bits, 1, self.weight_bits - 2)
        if self.l2 and self.data_parallel:
            raise ValueError(
                "l2 and data_parallel exclude each other: no worker then has the model's weights,"
                " which l2 shrinks"
            )
        if self.max_bits < self.min_bits:
            raise ValueError("max_bits must be at least 2 with ping_pong, which has no precision 1")
        if self.ping_pong and self.l2 and self.banks < 3:
            raise ValueError(
                f"banks must be at least 3 with ping_pong and l2, or a gradient is there before its"
                f" weight: {self.banks}"
            )
        if self.pair_sums and not self.dsp:
            raise ValueError("pair_sums are for dsp, whose slices they feed")
        if self.dsp and self.gradient.bits > DSP_BITS:
            raise ValueError(
                f"max_bits must be at most {self.max_bits - self.gradient.bits + DSP_BITS} with dsp"
                f" and {self.banks} banks, because a slice adds {DSP_BITS} bits: {self.max_bits}"
            )

        if self.max_tile:
            self.check_tile()

    def check_tile(self) -> None:
        """Raise ValueError for sizes that do not fit a model in memory."""
        if not is_power_of_two(self.lanes) or not 16 <= self.lanes <= 128:
            raise ValueError(
                "lanes must be 16, 32, 64 or 128 with max_tile, because a burst of 2 to 16 beats"
                f" has the weights of a chunk: {self.lanes}"
            )
        if self.data_parallel or self.ping_pong:
            raise ValueError(
                "max_tile excludes data_parallel and ping_pong, for which engines have the model"
            )

    @property
    def bank(self) -> BankParams:
        """Return the sizes of each of the engine's banks."""
        return BankParams(
            lanes=self.lanes,
            max_bits=self.max_bits,
            weight_bits=self.weight_bits,
            chunks=self.chunks,
            dsp=self.dsp,
            pair_sums=self.pair_sums,
        )

    @property
    def gradient(self) -> GradientParams:
        """Return the sizes of the gradient accumulation of each lane."""
        return GradientParams(
            banks=self.banks,
            max_bits=self.max_bits,
            scaled_bits=self.bank.scaled_bits,
            dsp=self.dsp,
        )

    @property
    def model(self) -> ModelParams:
        """Return the sizes of the model memory, which is read in the banks' order."""
        return ModelParams(
            lanes=self.lanes,
            weight_bits=self.weight_bits,
            chunks=self.chunks,
            column_lanes=self.bank.lanes_at_once,
        )

    @property
    def update_lead(self) -> int:
        """Return by how many cycles an update needs a weight before its gradient: one with L2."""
        return int(self.l2)

    @property
    def update_loop(self) -> int:
        """Return the least number of cycles between updates of a chunk by successive micro-batches.

        A chunk goes from the model memory through the lanes and back in that time.
        """
        return 5 + self.update_lead + self.ping_pong

    @property
    def min_bits(self) -> int:
        """Return the least precision: a chunk has three accesses to ``ping_pong``'s two ports."""
        return 1 + self.ping_pong

    @property
    def update_spacing(self) -> int:
        """Return the least cycles between updates of a chunk by micro-batches of a tile.

        They hand the weights on in the registers of the update lanes.
        """
        return UPDATE_CYCLES + self.update_lead

    @property
    def member_bits(self) -> int:
        """Return the width of a micro-batch's number in its tile."""
        return max(1, ceil_log2(self.max_tile))

    @property
    def precision_bits(self) -> int:
        """Return the width of a feature's precision s, which is at most ``max_bits``."""
        return bits_for(self.max_bits)

    @property
    def word_bits(self) -> int:
        """Return the width of a word: a bit plane of a chunk of all samples of a micro-batch."""
        return self.banks * self.lanes

    @property
    def word(self) -> data.ArrayLayout:
        """Describe a word: for every bank one bit of every lane."""
        return data.ArrayLayout(self.lanes, self.banks)

    @property
    def partials(self) -> data.ArrayLayout:
        """Describe the exact partial activations of a micro-batch, in units of the last plane."""
        return data.ArrayLayout(signed(self.bank.partial_bits), self.banks)

    @property
    def activations(self) -> data.ArrayLayout:
        """Describe rounded activations, labels or deltas of a micro-batch."""
        return data.ArrayLayout(signed(self.weight_bits), self.banks)

    @property
    def deltas(self) -> data.StructLayout:
        """Describe the deltas of a micro-batch, and its place in the run for the update."""
        return data.StructLayout({"delta": self.activations, "first": 1, "last": 1, "final": 1})

    @property
    def settings(self) -> data.StructLayout:
        """Describe the settings of a run, which must be stable while the engine works."""
        return data.StructLayout(
            {
                "bits": self.precision_bits,  # s, precision of a feature, 1..max_bits
                "signed_features": 1,  # planes weigh -1, 2^-1, 2^-2, ...; else 2^-1, 2^-2, ...
                "chunks": bits_for(self.chunks),  # C, number of chunks
                **SCHEDULE.members,  # a mini-batch has B / K micro-batches
                "tail_samples": bits_for(self.banks),  # of an epoch's last micro-batch, 1..K
                "l2_shift": 5,  # q of the L2 term, 0 turns it off
                "data_parallel": 1,  # models are exchanged after each mini-batch
                "from_zero": 1,  # and the updates of a mini-batch begin at zero
                # log2 of the micro-batches of a tile
                **({"tile": bits_for(exact_log2(self.max_tile))} if self.max_tile else {}),
            }
        )

    @property
    def word_settings(self) -> data.StructLayout:
        """Describe the settings that say which words a micro-batch has."""
        return self.some_settings("bits", "chunks")

    @property
    def walk_settings(self) -> data.StructLayout:
        """Describe the settings that say which chunks a run's tiles have."""
        return self.some_settings("chunks", *SCHEDULE.members, "tile")

    @property
    def tile_settings(self) -> data.StructLayout:
        """Describe the settings that say which words a run's tiles have."""
        return self.some_settings("bits", *self.walk_settings.members)

    def some_settings(self, *names: str) -> data.StructLayout:
        """Describe some of the settings."""
        return data.StructLayout({name: self.settings.members[name] for name in names})
