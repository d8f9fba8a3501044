"""Describes plans of long reads, and the sizes of the hardware that carries them out."""

from dataclasses import dataclass

from amaranth.lib import data
from amaranth.utils import ceil_log2

from hdl.common.axi import FOUR_KB
from hdl.common.axi_read_port import AxiPortParams

COUNT_BITS = 29  #: width of a number of beats, runs, or beats of stride, up to 2**28
EPOCH_BITS = 32
MOST_BURSTS = 256  #: most bursts without an answer


@dataclass(frozen=True, kw_only=True)
class ReadMasterParams:
    """Sets a read master's widths, its longest burst, and how many beats it has under way."""

    address_bits: int  #: width of a byte address, up to 64
    data_bits: int = 256  #: width of a beat, a power of two, 8..1024
    burst_beats: int = 16  #: most beats of a burst, a power of two, 2..256; AXI3 has 16
    prefetch_beats: int = 256  #: beats in flight or buffered, a power of two

    def __post_init__(self) -> None:
        if self.data_bits not in (8 << k for k in range(8)):
            raise ValueError(f"data_bits must be 8, 16, 32, ... or 1024: {self.data_bits}")
        if self.burst_beats not in (2 << k for k in range(8)):
            raise ValueError(f"burst_beats must be 2, 4, 8, ... or 256: {self.burst_beats}")
        if self.burst_beats * self.beat_bytes > FOUR_KB:
            raise ValueError(
                f"burst_beats must be at most {FOUR_KB // self.beat_bytes}, because a burst stays"
                f" within {FOUR_KB} bytes: {self.burst_beats} x {self.beat_bytes}"
            )
        if self.prefetch_beats not in (2 * self.burst_beats << k for k in range(12)):
            raise ValueError(
                f"prefetch_beats must be a power of two and at least two bursts,"
                f" {2 * self.burst_beats}: {self.prefetch_beats}"
            )
        least = (self.burst_beats * self.beat_bytes).bit_length()
        if not least <= self.address_bits <= 64:
            raise ValueError(f"address_bits must be from {least} to 64: {self.address_bits}")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: all sizes."""
        return f"{self.data_bits}_a{self.address_bits}_b{self.burst_beats}_p{self.prefetch_beats}"

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
            outstanding=min(self.prefetch_beats, MOST_BURSTS),
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
