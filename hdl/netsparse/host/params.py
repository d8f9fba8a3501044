"""Describes the sizes of the path to host memory, and the layout of every bundle on it."""

from dataclasses import replace

from amaranth.lib import data
from amaranth.utils import bits_for

from hdl.common.axi_read_port import AxiPortParams
from hdl.common.packets import BEAT_BYTES
from hdl.common.params import Params, whole
from hdl.netsparse.limits import MAX_UNITS
from hdl.netsparse.protocol import LENGTH_BITS, MAX_PROPERTY_BYTES
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.requester import RequesterParams
from hdl.pcie.write_params import WriteRequesterParams

LINE_BYTES = 128  #: bytes of an aligned line, whose end no request crosses
WORD_BYTES = 4  #: bytes of a word, of which addresses and sizes are multiples
BEAT_WORDS = BEAT_BYTES // WORD_BYTES
LINE_WORDS = LINE_BYTES // WORD_BYTES
MAX_TAGS = 256  #: most reads that a requester of PCI Express has under way
LANE_BITS = bits_for(BEAT_WORDS - 1)  #: width of a word's number in a beat
PLACE_BITS = bits_for(LINE_WORDS - 1)  #: width of a word's number in a line
LINE_OFFSET_BITS = bits_for(LINE_BYTES - 1)
WORD_OFFSET_BITS = bits_for(WORD_BYTES - 1)

#: Describes the events of a unit on the bus, pulses of one cycle: a request was sent to AR or AW; a
#: property was taken from the unit, a written one with its last beat.
EVENTS = data.StructLayout({"request": 1, "property": 1})


class HostParams(Params, suffix="u{units}_a{address_bits}_m{max_bytes}_o{outstanding}"):
    """Sets the sizes of a reader or a writer of host memory."""

    units: int = whole(1, MAX_UNITS + 1)  #: number of units and rings that share it
    address_bits: int = whole(13, 64, default=64)  #: width of a byte address of host memory
    #: most bytes of a property
    max_bytes: int = whole(
        4, MAX_PROPERTY_BYTES, multiple_of=WORD_BYTES, default=MAX_PROPERTY_BYTES
    )
    outstanding: int = whole(4, 1024, default=64)  #: most requests in flight

    @property
    def unit_bits(self) -> int:
        """Return the width of a unit's number."""
        return bits_for(self.units - 1)

    @property
    def line_bits(self) -> int:
        """Return the width of a line's number in host memory."""
        return self.address_bits - LINE_OFFSET_BITS

    @property
    def read_port(self) -> AxiPortParams:
        """Return the sizes of a reader's port to the bus."""
        return AxiPortParams(
            address_bits=self.address_bits,
            data_bits=8 * BEAT_BYTES,
            length_bits=1,
            outstanding=self.outstanding,
        )

    @property
    def write_port(self) -> AxiPortParams:
        """Return the sizes of a writer's port to the bus.

        A request's tag is its unit, and whether it is the last.
        """
        return replace(self.read_port, tag_bits=self.unit_bits + 1)

    @property
    def requester(self) -> RequesterParams:
        """Return the sizes of a requester of PCI Express, with as many reads under way."""
        tags = 1 << min(self.outstanding, MAX_TAGS).bit_length() - 1
        return RequesterParams(
            reads=ReadRequesterParams(tags=tags, user_bits=max(1, self.unit_bits)),
            writes=WriteRequesterParams(user_bits=1),  # a writer knows the order
        )

    @property
    def read_request(self) -> data.StructLayout:
        """Describe a unit's request of a property; its address and its bytes are multiples of 4."""
        return data.StructLayout({"address": self.address_bits, "bytes": LENGTH_BITS})

    @property
    def property_beat(self) -> data.StructLayout:
        """Describe 64 bytes of a property to be written, which begins in lane 0.

        All fields but data and ``last`` are the same in every beat.
        """
        return data.StructLayout(
            {
                "address": self.address_bits,
                "bytes": LENGTH_BITS,
                "last": 1,
                "data": 8 * BEAT_BYTES,
            }
        )

    @property
    def read_beat(self) -> data.StructLayout:
        """Describe 64 bytes of a property that was read; the stream has no back-pressure."""
        return data.StructLayout(
            {
                "valid": 1,
                "unit": self.unit_bits,
                "last": 1,
                "failed": 1,  # with last: some responses of the property were not OKAY
                "data": 8 * BEAT_BYTES,
            }
        )

    @property
    def done(self) -> data.StructLayout:
        """Describe the end of a property's write, good or failed."""
        return data.StructLayout({"valid": 1, "unit": self.unit_bits, "failed": 1})

    @property
    def whole(self) -> data.StructLayout:
        """Describe a property before it is split."""
        return data.StructLayout(
            {"address": self.address_bits, "bytes": LENGTH_BITS, "unit": self.unit_bits}
        )

    @property
    def span(self) -> data.StructLayout:
        """Describe the words of a line in a request."""
        return data.StructLayout(
            {
                "first": PLACE_BITS,
                "last": PLACE_BITS,
                "rotation": LANE_BITS,  # lane of the property's first word, the same in each
                "final": 1,  # it is the property's last request
                "unit": self.unit_bits,
            }
        )

    @property
    def line_request(self) -> data.StructLayout:
        """Describe a request: an AXI burst of one or two beats."""
        return data.StructLayout({"line": self.line_bits, "span": self.span})

    @property
    def lanes(self) -> data.StructLayout:
        """Describe the words of a beat in a request.

        The property's own beats of 64 bytes are rotated by ``rotation``, so that they begin at that
        lane: a beat of the bus holds the end of one of them and the beginning of the next.
        """
        return data.StructLayout(
            {
                "first": LANE_BITS,
                "last": LANE_BITS,
                "rotation": LANE_BITS,
                "low": 1,  # some words are below ``rotation``: the end of a property's beat
                "high": 1,  # some words are not below: the beginning of the next beat
                "end": 1,  # it is the request's last beat
                "final": 1,  # it is the property's last beat
                "unit": self.unit_bits,
            }
        )
