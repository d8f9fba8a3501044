"""Sets the sizes of a gather's datapath, and the bundles between its parts."""

from dataclasses import dataclass, field

from amaranth.lib import data, enum
from amaranth.utils import bits_for

from hdl.common.checks import check_range
from hdl.pcie.descriptors import Cause
from hdl.pcie.params import ReadRequesterParams

MOST_ROW = 4096  #: bytes
LINE, SECTOR = 128, 32  #: bytes of a GPU's cache line, and of what it reads of one
SKIP_BITS = 3  #: width of a number of dwords of a sector that are not of a row


class ReadOrder(enum.Enum, shape=2):
    """Names how rows are read (:mod:`sim.golden.pcie_link`)."""

    MERGED, ALIGNED, NAIVE = range(3)


#: What a read requester gives back with a request's data. ``skip`` dwords before the row's first
#: and ``drop`` behind its last have been read because whole sectors are; ``last``: the request is
#: the row's last; ``beyond``: its idx is not in the table; ``final``: the row is its array's last.
SHARE = data.StructLayout(
    {"skip": SKIP_BITS, "drop": SKIP_BITS, "last": 1, "beyond": 1, "final": 1}
)

#: What is told, for a cycle, of a row that has been read: ``beyond``, its idx is not in the table;
#: ``failed``, or some of it could not be read.
ROW_READ = data.StructLayout({"valid": 1, "beyond": 1, "failed": 1})


@dataclass(frozen=True, kw_only=True)
class GatherParams:
    """Sets how idxs and strides are wide, and how rows are read."""

    idx_bits: int = 32  #: width of an idx, 8..32
    stride_bits: int = 16  #: width of the bytes from row to row, 8..17
    reads: ReadRequesterParams = field(
        default_factory=lambda: ReadRequesterParams(user_bits=SHARE.size)
    )

    def __post_init__(self) -> None:
        check_range("idx_bits", self.idx_bits, 8, 32)
        check_range("stride_bits", self.stride_bits, 8, 17)
        if self.reads.user_bits != SHARE.size:
            raise ValueError(f"reads must have user_bits {SHARE.size}: {self.reads.user_bits}")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: all sizes."""
        return f"i{self.idx_bits}_s{self.stride_bits}_{self.reads.suffix}"

    @property
    def table(self) -> data.StructLayout:
        """Describe a table in host memory, and how it is read; sizes are in bytes."""
        return data.StructLayout(
            {
                "base": 64,
                "rows": self.idx_bits + 1,
                "row_bytes": bits_for(MOST_ROW),
                "stride": self.stride_bits,
                "order": ReadOrder,
            }
        )

    @property
    def idx(self) -> data.StructLayout:
        """Describe an idx; ``final``: it is the last of its array."""
        return data.StructLayout({"idx": self.idx_bits, "final": 1})

    @property
    def row(self) -> data.StructLayout:
        """Describe where a row is: the number of its first dword in host memory."""
        return data.StructLayout({"address": 62, "beyond": 1, "final": 1})

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat of a row, or of rows that are joined: ``bytes`` of it count, from the
        lowest on; all but the last are full.

        ``cause``: why they have failed up to here; ``beyond``: the idx of the beat's last row is
        not in the table; ``final``, with ``last``: it is the last of its array.
        """
        return data.StructLayout(
            {
                "data": self.reads.data_bits,
                "bytes": bits_for(self.reads.data_bits // 8),
                "last": 1,
                "cause": Cause,
                "beyond": 1,
                "final": 1,
            }
        )
