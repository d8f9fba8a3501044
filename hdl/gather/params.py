"""Sets the sizes of a gather's datapath, and the bundles between its parts."""

from bisect import bisect_right
from dataclasses import field

from amaranth.lib import data, enum
from amaranth.utils import bits_for, ceil_log2

from hdl.common.params import Params, whole
from hdl.gather.limits import MAX_ROW
from hdl.pcie.descriptors import Cause
from hdl.pcie.params import ReadRequesterParams

LINE, SECTOR = 128, 32  #: bytes of a GPU's cache line, and of a sector, its smallest read
SLOT_BITS = 8  #: width of the number of a slot, a place for a row that is kept
SLOTS = 1 << SLOT_BITS  #: most slots
SKIP_BITS = 5  #: width of the number of a sector's bytes that do not belong to a row


class ReadOrder(enum.Enum, shape=2):
    """Names how rows are read (:mod:`sim.golden.pcie_link`)."""

    MERGED = 0  #: one read of the dwords that the row is in
    #: from the multiple of 32 at or before the row's first byte to that at or behind its end, cut
    #: where an address is a multiple of 128
    ALIGNED = 1
    #: the same bytes, cut 128, 256, ... bytes behind the row's first byte, each time at the next
    #: multiple of 32, and where an address is a multiple of 128
    NAIVE = 2


#: Describes the ``user`` bits that a read requester returns with a request's data. ``skip`` bytes
#: before the row's first one and ``drop`` bytes behind its last one were read because reads cover
#: whole dwords or sectors; ``last``: the request is the row's last; ``beyond``: its idx is not in
#: the table; ``final``: the row is its array's last.
SHARE = data.StructLayout(
    {"skip": SKIP_BITS, "drop": SKIP_BITS, "last": 1, "beyond": 1, "final": 1}
)

#: Describes the report of a row that was read, a pulse of one cycle. ``beyond``: its idx is not in
#: the table; ``failed``: some of it could not be read.
ROW_READ = data.StructLayout({"valid": 1, "beyond": 1, "failed": 1})


class GatherParams(Params, suffix="i{idx_bits}_s{stride_bits}_{reads.suffix}"):
    """Sets the widths of idxs and strides, and how rows are read."""

    idx_bits: int = whole(8, 32, default=32)  #: width of an idx
    stride_bits: int = whole(8, 17, default=17)  #: width of the stride in bytes
    #: parts of rows (a part is at most a beat) that are kept, to be repeated for equal idxs;
    #: 0: each idx has its own reads
    kept_parts: int = whole(64, 8192, power_of_two=True, or_zero=True, default=0, tag="_k{}")
    reads: ReadRequesterParams = field(
        default_factory=lambda: ReadRequesterParams(user_bits=SHARE.size)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reads.user_bits != SHARE.size:
            raise ValueError(f"reads must have user_bits {SHARE.size}: {self.reads.user_bits}")

    @property
    def first_bits(self) -> int:
        """Return the width of a byte's place in a beat."""
        return ceil_log2(self.reads.data_bits // 8)

    @property
    def table(self) -> data.StructLayout:
        """Describe a table in host memory, and how it is read; sizes are in bytes."""
        return data.StructLayout(
            {
                "base": 64,
                "rows": self.idx_bits + 1,
                "row_bytes": bits_for(MAX_ROW),
                "stride": self.stride_bits,
                "order": ReadOrder,
                "coalesce": 1,
            }
        )

    @property
    def idx(self) -> data.StructLayout:
        """Describe an idx; ``final``: it is the last of its array."""
        return data.StructLayout({"idx": self.idx_bits, "final": 1})

    @property
    def result(self) -> data.StructLayout:
        """Describe an idx and the slot of its row; ``repeats``: the row is in the slot already."""
        return data.StructLayout(
            {"idx": self.idx_bits, "final": 1, "repeats": 1, "slot": SLOT_BITS}
        )

    @property
    def ordered(self) -> data.StructLayout:
        """Describe a row in the order of idxs: its slot, and whether it repeats or is fetched."""
        return data.StructLayout({"final": 1, "repeats": 1, "slot": SLOT_BITS})

    def max_parts(self, row_bytes: int) -> int:
        """Return how many parts a row may come in, in any order of reads.

        Each beat of its sectors is at most one part, and each begin or end of a read adds one more.
        """
        lines = row_bytes // LINE + 2
        return -(-row_bytes // (self.reads.data_bits // 8)) + 1 + 2 * lines

    def row_limits(self) -> list[int]:
        """Return the most bytes of a row that fits a slot, for slots of 1, 2, 4, ... parts."""
        return [
            bisect_right(range(1, MAX_ROW + 1), 1 << bits, key=self.max_parts)
            for bits in range(self.max_parts(MAX_ROW).bit_length())
        ]

    @property
    def row(self) -> data.StructLayout:
        """Describe a row by the address of its first byte in host memory."""
        return data.StructLayout(
            {"address": 64, "beyond": 1, "final": 1, "repeats": 1, "slot": SLOT_BITS}
        )

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat of a row, or of joined rows, whose lowest ``bytes`` bytes are valid.

        All beats but the last are full. ``cause``: the first failure of a read up to this beat;
        ``beyond``: the idx of the beat's last row is not in the table; ``final``, with ``last``:
        the row is the last of its array.
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
