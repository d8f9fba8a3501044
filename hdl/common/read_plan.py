"""Describes plans of long reads, and the sizes of the hardware that carries them out."""

from amaranth.lib import data
from amaranth.utils import ceil_log2

from hdl.common.axi import FOUR_KB
from hdl.common.axi_read_port import AxiPortParams
from hdl.common.checks import check_range
from hdl.common.params import Params, whole

COUNT_BITS = 29  #: width of a number of beats, runs, or beats of stride, up to 2**28
EPOCH_BITS = 32
MAX_BURSTS = 256  #: most bursts without an answer


class ReadMasterParams(
    Params, suffix="{data_bits}_a{address_bits}_b{burst_beats}_p{prefetch_beats}"
):
    """Sets a read master's widths, its longest burst, and how many beats it has under way."""

    address_bits: int  #: width of a byte address, up to 64
    data_bits: int = whole(8, 1024, power_of_two=True, default=256)  #: width of a beat
    #: most beats of a burst; AXI3 has 16
    burst_beats: int = whole(2, 256, power_of_two=True, default=16)
    #: beats in flight or buffered
    prefetch_beats: int = whole(4, 1 << 20, power_of_two=True, default=256)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.burst_beats * self.beat_bytes > FOUR_KB:
            raise ValueError(
                f"burst_beats must be at most {FOUR_KB // self.beat_bytes}, because a burst stays"
                f" within {FOUR_KB} bytes: {self.burst_beats} x {self.beat_bytes}"
            )
        least = 2 * self.burst_beats
        check_range("prefetch_beats", self.prefetch_beats, least, least << 11)
        least = (self.burst_beats * self.beat_bytes).bit_length()
        check_range("address_bits", self.address_bits, least, 64)

    @property
    def beat_bytes(self) -> int:
        """Return the number of bytes of a beat."""
        return self.data_bits // 8

    @property
    def beat_address_bits(self) -> int:
        """Return the width of a beat's index in memory."""
        return self.address_bits - ceil_log2(self.beat_bytes)

    @property
    def window_bits(self) -> int:
        """Return the width of a beat's index in its window, an aligned block as long as a burst."""
        return ceil_log2(self.burst_beats)

    @property
    def port(self) -> AxiPortParams:
        """Return the sizes of the port to the bus."""
        return AxiPortParams(
            address_bits=self.address_bits,
            data_bits=self.data_bits,
            length_bits=self.window_bits,
            outstanding=min(self.prefetch_beats, MAX_BURSTS),
        )

    @property
    def plan(self) -> data.StructLayout:
        """Describe a plan, which :func:`read_plan` builds."""
        return read_plan(self.address_bits)

    @property
    def burst(self) -> data.StructLayout:
        """Describe a burst: the index of its first beat, and AXI's length (beats less one)."""
        return data.StructLayout({"beat": self.beat_address_bits, "length": self.window_bits})


def read_plan(address_bits: int) -> data.StructLayout:
    """Describe a read of ``epochs`` times ``runs`` times ``beats`` beats.

    In every epoch, run r is the ``beats`` consecutive beats from byte address ``address + r *
    stride * beat_bytes``. ``address`` is aligned to a beat: lower bits are ignored. A plan with a
    zero count reads nothing.
    """
    return data.StructLayout(
        {
            "address": address_bits,
            "beats": COUNT_BITS,
            "stride": COUNT_BITS,
            "runs": COUNT_BITS,
            "epochs": EPOCH_BITS,
        }
    )
