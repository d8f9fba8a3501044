"""The sizes of P4SGD's switch, and the bundles that its parts exchange."""

from dataclasses import dataclass

from amaranth.hdl import signed
from amaranth.lib import data, enum
from amaranth.utils import bits_for, ceil_log2

from hdl.common.fifo import FifoParams
from hdl.p4sgd.engine.params import check_range, is_power_of_two
from hdl.p4sgd.network.frame import LANES
from hdl.p4sgd.network.frame_filter import Quality

USES = 256  #: of a slot, told apart by the eight bits on the wire
PAYLOAD_BITS = 32  #: of a lane on the wire


class Verdict(enum.Enum, shape=4):
    """What became of a packet; of those from ``WRONG_SLOT`` on the last one that applies."""

    NONE = 0  #: there was no packet
    ADDED = 1  #: a partial activation that was not in the sum yet
    REPEATED_PARTIAL = 2  #: one that was; answered with the sum, or pending if it is not complete
    ACKNOWLEDGED = 3  #: a new acknowledgement of a complete sum
    REPEATED_ACK = 4  #: an old one; answered acked, or pending if not all have acknowledged
    PREVIOUS_ACK = 5  #: of the use before, answered
    EARLY = 6  #: a partial activation of the next use, before all have acknowledged
    PREMATURE_ACK = 7  #: of a sum that is not complete
    STALE = 8  #: of another use
    WRONG_SLOT = 9  #: outside the job's range
    WRONG_RUN = 10  #: of another epoch than the job's
    WRONG_WORKER = 11  #: not with exactly the bit of the port it came by
    WRONG_JOB = 12  #: of no active job, or not one of this port
    MALFORMED = 13  #: not 60 bytes, with bits set that are zero, or an answer of a switch
    FOREIGN = 14  #: another destination, ethertype or version
    CORRUPT = 15  #: its checksum is wrong


class Refusal(enum.Enum, shape=3):
    """Why the last command had no effect; the first that applies."""

    NONE = 0  #: it had
    BUSY = 1  #: a job is being started
    NO_SUCH_JOB = 2  #: the number is too large
    NO_PORTS = 3  #: the bitmap is empty
    NO_SUCH_PORT = 4  #: the bitmap has ports that the switch has not
    BAD_SLOTS = 5  #: no slots, or slots that the switch has not
    PORTS_TAKEN = 6  #: by another active job
    SLOTS_TAKEN = 7  #: by another active job


#: A host's command, and what a job is started with; all but the first two hold still.
COMMAND = data.StructLayout(
    {
        "start": 1,
        "stop": 1,
        "job": 16,
        "ports": 32,
        "epoch": 16,
        "base": 16,
        "count": 17,  # slots from base on
    }
)


@dataclass(frozen=True, kw_only=True)
class SwitchParams:
    """Sizes of a switch. Narrow lanes are for proofs: values are cut on the way in."""

    ports: int = 8  #: workers, one each, 2..32
    slots: int = 1 << 16  #: AllReduces under way, a power of two, 2..65536
    jobs: int = 8  #: side by side, 1..32
    lanes: int = LANES  #: activations that are added, 1..8
    value_bits: int = PAYLOAD_BITS  #: of an activation, 4..32
    ingress_depth: int = 512  #: packets that wait at each port, a power of two
    egress_depth: int = 64  #: answers that wait at each port

    def __post_init__(self) -> None:
        check_range("ports", self.ports, 2, 32)
        check_range("slots", self.slots, 2, 1 << 16)
        check_range("jobs", self.jobs, 1, 32)
        check_range("lanes", self.lanes, 1, LANES)
        check_range("value_bits", self.value_bits, 4, PAYLOAD_BITS)
        check_range("ingress_depth", self.ingress_depth, 2, 1 << 16)
        check_range("egress_depth", self.egress_depth, 2, 1 << 16)
        for name in ("slots", "ingress_depth"):
            if not is_power_of_two(getattr(self, name)):
                raise ValueError(f"{name} must be a power of two: {getattr(self, name)}")

    @property
    def suffix(self) -> str:
        """Every size."""
        return (
            f"p{self.ports}_s{self.slots}_j{self.jobs}_{self.lanes}x{self.value_bits}"
            f"_i{self.ingress_depth}_e{self.egress_depth}"
        )

    @property
    def slot_bits(self) -> int:
        """Index of a slot."""
        return ceil_log2(self.slots)

    @property
    def port_bits(self) -> int:
        """Index of a port."""
        return ceil_log2(self.ports)

    @property
    def job_bits(self) -> int:
        """Index of a job."""
        return bits_for(self.jobs - 1)

    @property
    def payload(self) -> data.ArrayLayout:
        """Activations as they are taken in."""
        return data.ArrayLayout(signed(self.value_bits), self.lanes)

    @property
    def agg(self) -> data.ArrayLayout:
        """Their exact sum over all ports."""
        return data.ArrayLayout(signed(self.value_bits + self.port_bits), self.lanes)

    @property
    def header(self) -> data.StructLayout:
        """What an answer repeats of its packet; ``is_agg`` is also one where it is pending."""
        return data.StructLayout(
            {
                "job": self.job_bits,
                "epoch": 16,
                "seq": 16,
                "use": 8,
                "is_agg": 1,
            }
        )

    @property
    def packet(self) -> data.StructLayout:
        """What is left of a frame behind its port."""
        return data.StructLayout(
            {
                "quality": Quality,
                "own": 1,  # bm is the bit of the port
                "known": 1,  # the job's number is not too large
                "header": self.header,
                "payload": self.payload,
            }
        )

    @property
    def job(self) -> data.StructLayout:
        """An entry of the job table."""
        return data.StructLayout(
            {
                "active": 1,
                "ports": self.ports,
                "epoch": 16,
                "base": 16,  # first slot
                "end": 17,  # the one behind the last
            }
        )

    @property
    def request(self) -> data.StructLayout:
        """A packet for the aggregator."""
        return data.StructLayout(
            {
                "sender": self.ports,  # one bit
                "everyone": self.ports,  # the job's ports
                "neighbour": 8,  # the use before, of an acknowledgement the use after
                "header": self.header,
                "payload": self.payload,
            }
        )

    @property
    def state(self) -> data.StructLayout:
        """What is kept of a slot."""
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
        """What goes out."""
        return data.StructLayout(
            {
                "bm": self.ports,  # ports that it goes to
                "acked": 1,  # it is no sum; pending if header.is_agg is one as well
                "saturated": self.lanes,  # of a sum: the lanes that were clamped
                "header": self.header,
                "payload": self.payload,
            }
        )

    @property
    def ingress_fifo(self) -> FifoParams:
        """Packets that wait at a port."""
        return FifoParams(width=self.packet.size, depth=self.ingress_depth)

    @property
    def egress_fifo(self) -> FifoParams:
        """Answers that wait at a port."""
        return FifoParams(width=self.answer.size, depth=self.egress_depth)
