"""Describes the sizes, layouts and verdicts of a bank of slots for frames of many numbers."""

from amaranth.hdl import ShapeLike, signed
from amaranth.lib import data, enum
from amaranth.utils import bits_for, ceil_log2

from hdl.common.memory import MemoryParams
from hdl.common.params import Params, whole
from hdl.switch.slots import MAX_SLOTS_AT_ONCE, MORE_CYCLES, PAYLOAD_BITS

COPIES = 2  #: sums of a slot: of even and of odd uses


class WideVerdict(enum.Enum, shape=4):
    """Names the verdicts on packets."""

    NONE = 0  #: no packet has begun
    ADDED = 1  #: it is a partial activation that was not in the sum yet
    REPEATED_PARTIAL = 2  #: it is in the sum already; answered with the sum, or pending
    ACKNOWLEDGED = 3  #: it is a new acknowledgement of the last complete sum
    REPEATED_ACK = 4  #: it is repeated; answered acked, or pending until all have acknowledged
    EARLY = 5  #: it is a partial activation of the next use, while this one lacks workers
    PREMATURE_ACK = 6  #: it acknowledges a sum that is not complete
    STALE = 7  #: it is of another use
    DIFFERENT = 8  #: its operation or count of numbers is not that of its use
    WRONG_SLOT = 9  #: its slot is outside the job's range
    WRONG_RUN = 10  #: its epoch is not the job's
    WRONG_WORKER = 11  #: its ``bm`` is not exactly the bit of the port that it came by
    WRONG_JOB = 12  #: its job is not there, or has nobody at this port
    MALFORMED = 13  #: its length is not that of its count, or a field has a value without meaning
    FOREIGN = 14  #: it has another destination, ethertype or version
    CORRUPT = 15  #: the MAC says that its checksum is wrong: `tuser` is 1 with its last beat


class Operation(enum.Enum, shape=2):
    """Says what is done with the numbers of all workers."""

    SUM, MAX, OR = range(3)


class WideParams(Params, suffix="p{ports}_s{slots}_{lanes}x{beats}_{first}_{tag_bits}"):
    """Sets the sizes of a bank."""

    ports: int = whole(2, 32, default=8)  #: number of ports, each with a worker
    slots: int = whole(2, 1 << 11, power_of_two=True, default=1 << 11)  #: AllReduces under way
    lanes: int = whole(1, 16, default=16)  #: numbers in a beat
    beats: int = whole(2, 128, power_of_two=True, default=16)  #: beats that the most numbers fill
    first: int = whole(0, 15, default=0)  #: lane of a packet's first number
    tag_bits: int = whole(0, 32, default=0)  #: bits of a packet that its answer repeats

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first >= self.lanes:
            raise ValueError(f"first must be below lanes, {self.lanes}: {self.first}")

    @property
    def shape_fields(self) -> dict[str, int]:
        """Return the fields that all partial activations of a use have in common."""
        return {"operation": 2, "count": bits_for(self.lanes * self.beats)}

    @property
    def packet_fields(self) -> dict[str, int]:
        """Return the fields that a packet and its answer have; ``is_agg``: it has numbers."""
        slot = ceil_log2(self.slots)
        return {"is_agg": 1, "slot": slot, "use": 8, **self.shape_fields, "tag": self.tag_bits}

    @property
    def head(self) -> data.StructLayout:
        """Describe a packet and its sender; ``clear`` clears its slot."""
        return data.StructLayout({"clear": 1, **self.packet_fields, "sender": self.ports})

    @property
    def beat_fields(self) -> dict[str, ShapeLike]:
        """Return what the beats of packets and of answers have in common."""
        return {"last": 1, "numbers": data.ArrayLayout(signed(PAYLOAD_BITS), self.lanes)}

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat of a packet, which has the packet's head."""
        number = bits_for(self.beats if self.first else self.beats - 1)
        return data.StructLayout({"head": self.head, "number": number, **self.beat_fields})

    @property
    def addend(self) -> data.StructLayout:
        """Describe a beat's numbers, and what they are combined by."""
        return data.StructLayout({"operation": 2, **self.beat_fields})

    @property
    def answer(self) -> data.StructLayout:
        """Describe an answer to the ports in ``bm``: a sum, or ``acked`` and then without numbers.

        If it is ``acked``, ``is_agg`` says that it is pending.
        """
        return data.StructLayout({"bm": self.ports, "acked": 1, **self.packet_fields})

    @property
    def answer_beat(self) -> data.StructLayout:
        """Describe a beat of an answer; of its numbers up to this one ``saturated`` are clamped."""
        saturated = {"saturated": bits_for(self.lanes * self.beats)}
        return data.StructLayout({**saturated, **self.beat_fields})

    @property
    def waiting(self) -> int:
        """Return the beats of answers that may wait: four answers, or what is in the bank.

        Of a longer answer the rest waits in front of the bank; it follows without a gap.
        """
        return min(64, max(16, 4 * self.beats))

    @property
    def state(self) -> data.StructLayout:
        """Describe what a slot has besides its sums."""
        return data.StructLayout(
            {
                "use": 8,
                "agg_bm": self.ports,  # workers that are in the sum of the use
                "ack_bm": self.ports,  # workers that have the last complete sum
                "summed": 1,  # all are in the sum
                "acked": 1,  # all have the last complete sum
                "shapes": data.ArrayLayout(data.StructLayout(self.shape_fields), COPIES),
            }
        )

    @property
    def decision(self) -> data.StructLayout:
        """Describe what becomes of a packet's beats."""
        return data.StructLayout(
            {
                "take": 1,  # its numbers begin a sum
                "add": 1,  # they are added to it
                "full": 1,  # each beat is answered with the sum
                "short": 1,  # it is answered with one beat without numbers
                "answer": self.answer,
            }
        )

    @property
    def actions(self) -> data.StructLayout:
        """Describe what becomes of a beat in the lanes before the first number's, and in others."""
        return data.StructLayout(dict.fromkeys(("take", "add", "full"), 2))

    @property
    def more_cycles(self) -> int:
        """Return the additional cycles of the memory of sums, if it is a deep one."""
        return MORE_CYCLES if self.slots * COPIES * self.beats > MAX_SLOTS_AT_ONCE else 0

    @property
    def sums_memory(self) -> MemoryParams:
        """Return the sizes of the memory of sums."""
        exact = data.ArrayLayout(signed(PAYLOAD_BITS + ceil_log2(self.ports)), self.lanes)
        return MemoryParams(
            shape=exact,
            depth=self.slots * COPIES * self.beats,
            style="ultra",
            output_registers=1 + self.more_cycles,
        )
