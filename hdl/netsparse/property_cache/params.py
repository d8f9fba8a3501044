"""Describes the sizes of the Property Cache and the layouts of its streams."""

# The type stubs take members of an Amaranth enumeration for numbers.
# pyright: reportGeneralTypeIssues=false

from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from hdl.common.checks import check_range
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.common.params import Params, same_as, whole
from hdl.netsparse.lru import pairs
from hdl.netsparse.protocol import LENGTH_BITS

SEGMENT_BYTES = 16  #: bytes of a property that a segment holds
JUDGE = 1  #: cycles from an access to the slot: the operation on its row
READ = DualPortMemory.latency  #: cycles from a slot to the tags of its row
COMPARED = READ + 1  #: cycles from a slot to the comparison with its tag
DECIDED = COMPARED + 1  #: cycles from a slot to its decision
FIND = DECIDED + 1  #: cycles from a slot to its verdict, a register after the decision
MOVE = 1 + DualPortMemory.latency + 1  #: cycles from a verdict to the property
LEAST_LATENCY = JUDGE + FIND + MOVE
#: Number of preceding slots whose changes a slot's read of tags misses: tags are written with the
#: verdict, and a read in the cycle of a write returns the old contents.
REACH = FIND


class Operation(enum.Enum, shape=2):
    """Names the operations on a row of tags."""

    NONE = 0
    LOOKUP = 1
    INSERT = 2
    CLEAR = 3  #: all ways become empty


class PropertyCacheParams(Params):
    """Sets the sizes of the cache of one middle pipe (table 5)."""

    cache_bytes: int = 4 * 1024**2  #: bytes of properties; the paper's eight pipes share 32 MB
    #: number of segments; together the largest property
    segments: int = whole(2, 32, power_of_two=True, default=32)
    ways: int = whole(2, 16, power_of_two=True, default=16)  #: properties of a set
    idx_bits: int = 40  #: width of an idx
    latency: int = whole(LEAST_LATENCY, 64, default=16)  #: cycles from an access to its result
    #: kind of memory of the properties
    style: str = same_as(MemoryParams, "style", default="ultra")

    def __post_init__(self) -> None:
        super().__post_init__()
        sets = self.cache_bytes / (SEGMENT_BYTES * self.segments * self.ways)
        if sets not in {1 << k for k in range(1, 17)}:
            raise ValueError(
                f"cache_bytes must give a segment 2, 4, 8, ... or 65536 sets of {self.ways} ways"
                f" of {SEGMENT_BYTES} bytes: {self.cache_bytes} bytes give {sets:g} sets"
            )
        check_range("idx_bits", self.idx_bits, self.row_bits + 1, 64)

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: segments, sets, ways and further sizes."""
        sizes = f"{self.segments}x{self.sets}x{self.ways}_{self.idx_bits}_{self.latency}"
        return sizes if self.style == "auto" else f"{sizes}_{self.style}"

    @property
    def sets(self) -> int:
        """Return the number of sets of a segment."""
        return self.cache_bytes // (SEGMENT_BYTES * self.segments * self.ways)

    @property
    def set_bits(self) -> int:
        """Return how many low bits of an idx choose its set."""
        return ceil_log2(self.sets)

    @property
    def segment_bits(self) -> int:
        """Return how many bits of an idx, above the set's, choose its segment."""
        return ceil_log2(self.segments)

    @property
    def row_bits(self) -> int:
        """Return the width of a row's number: {segment, set}."""
        return self.segment_bits + self.set_bits

    @property
    def rows(self) -> int:
        """Return the number of rows of tags: the sets of all segments."""
        return self.segments * self.sets

    @property
    def tag_bits(self) -> int:
        """Return the width of a tag: all of the idx above its set.

        The segment bits are included, because the bits that a mode ignores distinguish idxs of a
        row.
        """
        return self.idx_bits - self.set_bits

    @property
    def way_bits(self) -> int:
        """Return the width of a way's number."""
        return ceil_log2(self.ways)

    @property
    def max_bytes(self) -> int:
        """Return the bytes of the largest property."""
        return SEGMENT_BYTES * self.segments

    @property
    def mode_bits(self) -> int:
        """Return the width of a mode: bit b says that more than 2^b segments act together.

        So each bit is a register that selects among many segments, without a decoder.
        """
        return max(1, self.segment_bits)

    @property
    def property_layout(self) -> data.ArrayLayout:
        """Describe a property in parts for a segment each, byte 0 lowest in the first."""
        return data.ArrayLayout(8 * SEGMENT_BYTES, self.segments)

    @property
    def access(self) -> data.StructLayout:
        """Describe a lookup of the property of ``idx``, or, with ``insert``, its insertion."""
        return data.StructLayout(
            {
                "insert": 1,
                "idx": self.idx_bits,
                "length": LENGTH_BITS,  # bytes of a property
                "property": self.property_layout,  # property of an insert; undefined after its end
            }
        )

    @property
    def slot(self) -> data.StructLayout:
        """Describe the operation on a row in a cycle."""
        return data.StructLayout(
            {"operation": Operation, "row": self.row_bits, "tag": self.tag_bits}
        )

    @property
    def verdict(self) -> data.StructLayout:
        """Describe the outcome of an access to a row."""
        return data.StructLayout(
            {
                "result": 1,  # the row has the tag of the lookup or insert
                "installed": 1,  # an insert took a way
                "replaced": 1,  # that way had another tag
                "row": self.row_bits,
                "way": self.ways,  # the way that was found or taken, one-hot
            }
        )

    @property
    def passed(self) -> data.StructLayout:
        """Describe the data that accompany a slot: of its access, and of the cache at that time."""
        return data.StructLayout(
            {
                "lookup": 1,  # a lookup of the configured length
                "insert": 1,  # an insert of the configured length
                "bypassed": 1,  # an access of another length
                "discarded": 1,  # an insert while the cache is being cleared
                "mode": self.mode_bits,
            }
        )

    @property
    def result(self) -> data.StructLayout:
        """Describe an answer; ``property`` is undefined unless ``hit``, and after its end."""
        return data.StructLayout({"hit": 1, "property": self.property_layout})

    @property
    def row_state(self) -> data.StructLayout:
        """Describe the state of a row without its tags: a bit for each way and pair of ways."""
        return data.StructLayout({"holds": self.ways, "newer": len(pairs(self.ways))})

    @property
    def tag_memory(self) -> MemoryParams:
        """Return the sizes of the memory of a way's tags."""
        return MemoryParams(shape=self.tag_bits, depth=self.rows, style=self.row_style)

    @property
    def row_memory(self) -> MemoryParams:
        """Return the sizes of the memory of the rows' state."""
        return MemoryParams(shape=self.row_state, depth=self.rows, style=self.row_style)

    @property
    def row_style(self) -> str:
        """Return the kind of memory of the rows."""
        return "block" if self.style == "ultra" else self.style

    @property
    def segment_memory(self) -> MemoryParams:
        """Return the sizes of a segment's memory; its address is {set, way}."""
        return MemoryParams(shape=8 * SEGMENT_BYTES, depth=self.sets * self.ways, style=self.style)


#: Describes the outcome of an access, one of the first six, in the cycle of its result.
EVENTS = data.StructLayout(
    {
        "hit": 1,  # a lookup found its property
        "miss": 1,  # a lookup did not find it; also while the cache is being cleared
        "inserted": 1,  # an insert took a line
        "present": 1,  # an insert's property was there already
        "bypassed": 1,  # an access had another length, or one that the cache cannot hold
        "discarded": 1,  # an insert came while the cache was cleared
        "replaced": 1,  # besides ``inserted``: the line held another property
    }
)

PRESETS = {
    "tiny": PropertyCacheParams(
        cache_bytes=512, segments=4, ways=4, idx_bits=12, latency=LEAST_LATENCY, style="auto"
    ),
    "small": PropertyCacheParams(cache_bytes=32 * 1024, style="auto"),
    "paper": PropertyCacheParams(),
    "u280": PropertyCacheParams(cache_bytes=2 * 1024**2),
}
