"""The sizes of P4SGD's switch, and what its rule adds to the bundles that its parts exchange."""

from dataclasses import dataclass

from amaranth.hdl import signed
from amaranth.lib import data, enum

from hdl.common.checks import check_range
from hdl.p4sgd.network.frame import FRAMES, LANES
from hdl.switch.frame_format import FrameFormat
from hdl.switch.params import PacketSwitchParams

USES = 256  #: of a slot, told apart by the eight bits on the wire
PAYLOAD_BITS = 32  #: width of a lane on the wire


class Verdict(enum.Enum, shape=4):
    """Says what became of a packet; of those from ``WRONG_SLOT`` on the last that applies."""

    NONE = 0  #: there was no packet
    ADDED = 1  #: it is a partial activation that was not in the sum yet
    REPEATED_PARTIAL = 2  #: one that was; answered with the sum, or pending if it is not complete
    ACKNOWLEDGED = 3  #: it is a new acknowledgement of a complete sum
    REPEATED_ACK = 4  #: an old one; answered acked, or pending if not all have acknowledged
    PREVIOUS_ACK = 5  #: it acknowledges the use before and is answered
    EARLY = 6  #: a partial activation of the next use, before all have acknowledged
    PREMATURE_ACK = 7  #: it acknowledges a sum that is not complete
    STALE = 8  #: it is of another use of the slot
    WRONG_SLOT = 9  #: its slot is outside the job's range
    WRONG_RUN = 10  #: it is of another epoch than the job's
    WRONG_WORKER = 11  #: it has not exactly the bit of the port that it came by
    WRONG_JOB = 12  #: it is of no active job, or not of one of this port
    MALFORMED = 13  #: not 60 bytes, with bits set that are zero, or an answer of a switch
    FOREIGN = 14  #: it has another destination, ethertype or version
    CORRUPT = 15  #: its checksum is wrong


@dataclass(frozen=True, kw_only=True)
class SwitchParams(PacketSwitchParams):
    """Sizes of P4SGD's switch. Narrow lanes are for proofs: values are cut on the way in."""

    lanes: int = LANES  #: number of activations that are added, 1..8
    value_bits: int = PAYLOAD_BITS  #: width of an activation, 4..32

    only_answers = ("acked", "saturated")
    slot_field = "seq"
    verdict = Verdict

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("lanes", self.lanes, 1, LANES)
        check_range("value_bits", self.value_bits, 4, PAYLOAD_BITS)

    @property
    def suffix(self) -> str:
        """Tells every size."""
        return (
            f"p{self.ports}_s{self.slots}_j{self.jobs}_{self.lanes}x{self.value_bits}"
            f"_i{self.ingress_depth}_e{self.egress_depth}"
        )

    @property
    def frames(self) -> FrameFormat:
        """Return the format of P4SGD's frames."""
        return FRAMES

    @property
    def fields(self) -> dict[str, int]:
        """Describe what the rule goes by; ``is_agg`` of an answer is also one if it is pending."""
        return {"seq": 16, "use": 8, "is_agg": 1}

    @property
    def payload(self) -> data.ArrayLayout:
        """Describe activations as they are taken in."""
        return data.ArrayLayout(signed(self.value_bits), self.lanes)

    @property
    def agg(self) -> data.ArrayLayout:
        """Describe the exact sum of activations over all ports."""
        return data.ArrayLayout(signed(self.value_bits + self.port_bits), self.lanes)

    @property
    def state(self) -> data.StructLayout:
        """Describe what is kept of a slot."""
        return data.StructLayout(
            {
                "use": 8,
                "agg_bm": self.ports,  # ports that are in the sum
                "ack_bm": self.ports,  # ports that have acknowledged it
                "summed": 1,  # all of the job's ports are in agg_bm
                "finished": 1,  # and in ack_bm
                "agg": self.agg,
            }
        )

    @property
    def answer(self) -> data.StructLayout:
        """Describe what goes out."""
        return data.StructLayout(
            {
                "bm": self.ports,  # ports that it goes to
                "acked": 1,  # it is no sum; pending if header.is_agg is one as well
                "saturated": self.lanes,  # of a sum: the lanes that were clamped
                "header": self.header,
                "payload": self.payload,
            }
        )
