"""Sets the sizes of a requester of reads, and the bundles between its parts."""

from amaranth.hdl import unsigned
from amaranth.lib import data
from amaranth.utils import bits_for, ceil_log2

from hdl.common.params import Params, choice, same_as, tagged, whole
from hdl.pcie.axis import DATA_BITS, SEGMENT_DWORDS
from hdl.pcie.descriptors import COMPLETION, DWORD_BITS, Cause
from hdl.pcie.request_cutter import CutterParams

EPOCH = unsigned(2)  #: a number of ticks, modulo 4
PLACE_BITS = 12  #: width of the number of a byte of a request
BANKS = 2  #: banks of the buffer, for even and odd tags: reads in a row never share one


class ReadRequesterParams(Params, suffix="{data_bits}_{tags}x{max_read}_u{user_bits}"):
    """Sets how many reads are under way, and how large they are."""

    #: width of the block's interfaces and of a beat
    data_bits: int = choice(*DATA_BITS, default=512)
    tags: int = whole(4, 256, power_of_two=True, default=256)  #: most reads under way
    max_read: int = same_as(CutterParams, "most", default=512)  #: bytes of the largest read
    #: width of the user's bits that come back with a request's data
    user_bits: int = whole(1, 32, default=8)
    #: whether data comes in the order of requests, else of completion
    in_order: bool = tagged("_any", default=True)

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
        """Describe a beat of a request's data, whose lowest ``bytes`` bytes are valid.

        With ``in_order``, ``last`` ends a request. Without it, ``last`` ends one of the reads into
        which a request was cut, and the beat begins ``place`` bytes behind the request's first
        byte.
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
        """Return the field with a beat's place in its request; with ``in_order`` there is none."""
        return {} if self.in_order else {"place": PLACE_BITS}

    @property
    def step(self) -> data.StructLayout:
        """Describe a step: what is done in a cycle with a beat of completions.

        ``tail``: the beat's first ``count`` dwords belong to a completion that began in an earlier
        beat. ``head``: a completion begins in ``segment``, with ``count`` dwords of data in this
        beat; its read lacks ``remaining`` dwords, those included.
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
        """Describe a step with the place of its dwords in their reads, and whether they fit.

        ``apart``: tail and head need the same lane of the same bank, or both may have failed, so
        they take a cycle each.
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
        """Describe a beat, and which of its dwords goes to which line, for each lane and bank."""
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
        """Describe up to two tags whose last completion has ended, one in a tail, one in a head.

        ``rests``: the block has timed the read out, and late data may come.
        """
        end = data.StructLayout({"valid": 1, "tag": self.tag_bits, "rests": 1})
        return data.ArrayLayout(end, 2)

    @property
    def failure(self) -> data.StructLayout:
        """Describe the first error of a read."""
        return data.StructLayout({"valid": 1, "tag": self.tag_bits, "cause": Cause})

    @property
    def read(self) -> data.StructLayout:
        """Describe a read as its data is handed on: ``top`` is the number of its last byte."""
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
        """Describe a read that has been sent; ``epoch`` is the number of ticks at that time."""
        return data.StructLayout({"tag": self.tag_bits, "epoch": EPOCH, "read": self.read})

    @property
    def turn(self) -> data.StructLayout:
        """Describe a read whose data is to be handed on.

        ``timed_out``: its data has not come in time, or, with ``stopped``, a ``stop`` has ended it.
        """
        return data.StructLayout(
            {"tag": self.tag_bits, "read": self.read, "timed_out": 1, "stopped": 1}
        )
