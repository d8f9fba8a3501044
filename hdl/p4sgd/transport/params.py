"""Describes the sizes of a worker's network transport, and the bundles of its parts."""

from amaranth.hdl import signed
from amaranth.lib import data, enum
from amaranth.utils import bits_for, ceil_log2

from hdl.common.params import Params, tagged, whole
from hdl.p4sgd.network.frame import LANES

TIME_BITS = 24  #: width of the clock that timers compare with
PEER_BITS = 24  #: width of the number of repetitions while other workers are waited for

NETWORK_SETTINGS = data.StructLayout(
    {
        "address": 48,  # own address, the source of packets sent; first byte lowest
        "switch_address": 48,  # destination of packets sent
        "group_address": 48,  # destination of packets accepted
        "worker": 5,  # index: the bit of this worker
        "workers": 32,  # bitmap of the job's workers
        "job": 16,
        "epoch": 16,  # epoch of the job
        "slot_base": 16,  # first slot of the job at the switch
        "slot_count": 17,  # slots in use, 1..slots
        "timeout": TIME_BITS - 1,  # cycles after which a packet is sent again
        "retries": 8,  # repetitions without an answer before giving up the switch; 0: no limit
        "peer_retries": PEER_BITS,  # repetitions in all before giving up other workers; 0: no limit
    }
)


#: Describes how often a slot's packet was sent again.
TRIES = data.StructLayout(
    {
        "unanswered": 8,  # repetitions in a row without an answer, up to now
        "repetitions": PEER_BITS,  # repetitions in all; it stops at ``peer_retries``
    }
)


class Verdict(enum.Enum, shape=4):
    """Names the verdicts on received packets; if several apply, the last one counts."""

    NONE = 0  #: there was no packet
    FULL = 1  #: it is the full activation for which the slot waits
    FREED = 2  #: it is the confirmation for which the slot waits; none with shadow copies
    PENDING = 3  #: it says that the switch has the slot's packet, and waits for other workers
    REPEATED = 4  #: it is of the slot's use, but not what the slot waits for
    STALE = 5  #: it is of another use of the slot
    WRONG_SLOT = 6  #: its slot is outside the job's range
    WRONG_RUN = 7  #: it is of another run of the job
    WRONG_WORKER = 8  #: it is not for this worker
    WRONG_JOB = 9  #: it is of another job, or no job is open
    MALFORMED = 10  #: it is not 60 bytes long, or no answer of a switch
    FOREIGN = 11  #: it has another destination, ethertype or version
    CORRUPT = 12  #: its checksum is wrong


class Phase(enum.Enum, shape=2):
    """Names the states of a slot by the answer for which it waits."""

    FREE = 0
    PARTIAL = 1  #: it waits for the full activation: its partial one was sent
    ACK = 2  #: it waits for the confirmation: it has acknowledged


class TransportParams(Params, suffix="{lanes}x{slots}"):
    """Sets the sizes of a transport."""

    slots: int = whole(2, 4096, default=256)  #: most AllReduces under way
    lanes: int = whole(1, LANES, default=LANES)  #: K, number of activations of an AllReduce
    #: whether the switch has shadow copies of sums, so that nothing is acknowledged
    shadow: bool = tagged("_shadow", default=False)

    @property
    def slot_bits(self) -> int:
        """Return the width of a slot's index within the job's range."""
        return ceil_log2(self.slots)

    @property
    def count_bits(self) -> int:
        """Return the width of a number of slots."""
        return bits_for(self.slots)

    @property
    def activations(self) -> data.ArrayLayout:
        """Describe the operand of an AllReduce: the activations of a micro-batch."""
        return data.ArrayLayout(signed(32), self.lanes)

    @property
    def arrival(self) -> data.StructLayout:
        """Describe a packet whose header was checked."""
        return data.StructLayout(
            {
                "verdict": Verdict,  # NONE for a packet of this job, which its slot has to check
                "slot": self.slot_bits,
                "is_agg": 1,
                "acked": 1,  # it is a confirmation; with is_agg it is pending
                "use": 8,
                "activations": self.activations,
                "saturations": bits_for(self.lanes),  # activations that the switch clamped
            }
        )

    @property
    def answer(self) -> data.StructLayout:
        """Describe the table's answer to a query about a slot."""
        return data.StructLayout({"phase": Phase, "use": 8})

    @property
    def overdue(self) -> data.StructLayout:
        """Describe a slot that has waited for too long."""
        return data.StructLayout({"slot": self.slot_bits, "tries": TRIES})
