"""Sets the sizes of a requester of reads, and the bundles between its parts."""

from dataclasses import dataclass

from amaranth.hdl import unsigned
from amaranth.lib import data
from amaranth.utils import bits_for, ceil_log2

from hdl.common.checks import check_range, is_power_of_two
from hdl.pcie.axis import SEGMENT_DWORDS, check_data_bits
from hdl.pcie.descriptors import COMPLETION, DWORD_BITS, Cause
from hdl.pcie.request_cutter import SIZES, CutterParams

EPOCH = unsigned(2)  #: counts ticks
PLACE_BITS = 12  #: width of the number of a byte of a request
BANKS = 2  #: of the buffer: of even and of odd tags, so that two reads in a row are never in one


@dataclass(frozen=True, kw_only=True)
class ReadRequesterParams:
    """Sets how many reads are under way, and how large they are."""

    data_bits: int = 512  #: width of the block's interfaces and of a beat, 256 or 512
    tags: int = 256  #: reads under way, a power of two, 4..256
    max_read: int = 512  #: bytes of the largest read, 128, 256, ... 4096
    user_bits: int = 8  #: width of what the user wants back with a request's data, 1..32
    in_order: bool = True  #: data comes in the order of requests; else reads as they complete

    def __post_init__(self) -> None:
        check_data_bits(self.data_bits)
        if not is_power_of_two(self.tags) or not 4 <= self.tags <= 256:
            raise ValueError(f"tags must be a power of two from 4 to 256: {self.tags!r}")
        if self.max_read not in SIZES:
            raise ValueError(f"max_read must be one of {SIZES}: {self.max_read!r}")
        check_range("user_bits", self.user_bits, 1, 32)

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: all sizes, and the order if it is not requests'."""
        order = "" if self.in_order else "_any"
        return f"{self.data_bits}_{self.tags}x{self.max_read}_u{self.user_bits}{order}"

    @property
    def lanes(self) -> int:
        """Return the dwords of a beat."""
        return self.data_bits // DWORD_BITS

    @property
    def lane_bits(self) -> int:
        """Return the width of a dword's number in a beat."""
        return ceil_log2(self.lanes)

    @property
    def packets(self) -> int:
        """Return how many completions may begin in a beat: one in each segment."""
        return self.lanes // SEGMENT_DWORDS

    @property
    def tag_bits(self) -> int:
        """Return the width of a tag's number."""
        return ceil_log2(self.tags)

    @property
    def offset_bits(self) -> int:
        """Return the width of a dword's place in its read."""
        return self.cutter.offset_bits

    @property
    def line_bits(self) -> int:
        """Return the width of the number of a beat in its read."""
        return self.offset_bits - self.lane_bits

    @property
    def size_bits(self) -> int:
        """Return the width of a number of bytes of a read."""
        return bits_for(self.max_read)

    @property
    def cutter(self) -> CutterParams:
        """Return the sizes of the part that cuts requests."""
        return CutterParams(most=self.max_read, user_bits=self.user_bits)

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat of a request's data: ``bytes`` of it count, from the lowest on.

        In the order of requests ``last`` ends a request. Else it ends a read, one of those into
        which a request was cut, and the beat begins ``place`` bytes behind the request's first.
        """
        return data.StructLayout(
            {
                "data": self.data_bits,
                "bytes": bits_for(self.data_bits // 8),
                "last": 1,
                "user": self.user_bits,
                "cause": Cause,
                **self.placed_in_request,
            }
        )

    @property
    def placed_in_request(self) -> dict[str, int]:
        """Return the field that tells where in its request data belongs, if order does not."""
        return {} if self.in_order else {"place": PLACE_BITS}

    @property
    def step(self) -> data.StructLayout:
        """Describe what is done with a beat of completions at a time.

        ``tail``: its first ``count`` dwords go on with the completion that has begun before;
        ``head``: a completion begins in ``segment``, with ``count`` dwords of data in this beat, of
        ``remaining`` ones that the read still wants.
        """
        count = bits_for(self.lanes)
        return data.StructLayout(
            {
                "data": data.ArrayLayout(DWORD_BITS, self.lanes),
                "corrupt": 1,
                "tail": data.StructLayout({"valid": 1, "count": count, "ends": 1}),
                "head": data.StructLayout(
                    {
                        "valid": 1,
                        "segment": ceil_log2(self.packets),
                        "count": count,
                        "ends": 1,
                        "descriptor": COMPLETION,
                        "remaining": 12,
                    }
                ),
            }
        )

    @property
    def judged(self) -> data.StructLayout:
        """Describe a step of which is known where its dwords belong, and whether they fit.

        ``apart``: tail and head want the same lane of the same bank, or both may have failed, and
        take a cycle each.
        """
        return data.StructLayout(
            {
                "step": self.step,
                "apart": 1,
                "tail_offset": self.offset_bits,
                "head_offset": self.offset_bits,
                "known": 1,
                "address_fits": 1,
                "size_fits": 1,
            }
        )

    @property
    def placed(self) -> data.StructLayout:
        """Describe a beat, and for each lane of each bank which dword of it goes where."""
        lane = {"write": 1, "dword": self.lane_bits, "at": self.tag_bits - 1 + self.line_bits}
        bank = data.ArrayLayout(data.StructLayout(lane), self.lanes)
        return data.StructLayout(
            {
                "data": data.ArrayLayout(DWORD_BITS, self.lanes),
                "banks": data.ArrayLayout(bank, BANKS),
            }
        )

    @property
    def of_tag(self) -> data.StructLayout:
        """Describe something that happens to a tag."""
        return data.StructLayout({"valid": 1, "tag": self.tag_bits})

    @property
    def ends(self) -> data.ArrayLayout:
        """Describe up to two tags for which the block expects no more, of a tail and of a head.

        ``rests``: late data may come.
        """
        end = data.StructLayout({"valid": 1, "tag": self.tag_bits, "rests": 1})
        return data.ArrayLayout(end, 2)

    @property
    def failure(self) -> data.StructLayout:
        """Describe the first error of a read."""
        return data.StructLayout({"valid": 1, "tag": self.tag_bits, "cause": Cause})

    @property
    def read(self) -> data.StructLayout:
        """Describe a read for who hands its data on, up to the byte number ``top``."""
        return data.StructLayout(
            {
                "top": self.size_bits - 1,
                "last": 1,
                "user": self.user_bits,
                **self.placed_in_request,
            }
        )

    @property
    def waiting(self) -> data.StructLayout:
        """Describe a read that has been sent, and when, by the number of ticks."""
        return data.StructLayout({"tag": self.tag_bits, "epoch": EPOCH, "read": self.read})

    @property
    def turn(self) -> data.StructLayout:
        """Describe a read whose data is to be handed on.

        ``given_up``: it has not come, and nobody waits any more; because of a ``stop``, or late.
        """
        return data.StructLayout(
            {"tag": self.tag_bits, "read": self.read, "given_up": 1, "stopped": 1}
        )
