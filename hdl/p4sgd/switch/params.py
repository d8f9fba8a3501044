"""Describes the sizes of P4SGD's switch, and the fields that its rule adds to the bundles."""

from typing import Any

from amaranth.hdl import Cat, Value, signed
from amaranth.lib import data, enum

from hdl.common.memory import MemoryParams
from hdl.common.params import tagged, whole
from hdl.p4sgd.network.frame import FRAMES, LANES
from hdl.switch.frame_format import FrameFormat
from hdl.switch.params import PacketSwitchParams
from hdl.switch.slots import MAX_SLOTS_AT_ONCE, MORE_CYCLES, PAYLOAD_BITS

MAX_ENTRIES = 1 << 16  #: most sums in the memory of slots


class Verdict(enum.Enum, shape=4):
    """Names the verdicts on packets; from ``WRONG_SLOT`` on, the last one that applies counts."""

    NONE = 0  #: there was no packet
    ADDED = 1  #: it is a partial activation that was not in the sum yet
    REPEATED_PARTIAL = 2  #: it is in the sum already; answered with the sum, or pending
    ACKNOWLEDGED = 3  #: it is a new acknowledgement of a complete sum
    REPEATED_ACK = 4  #: it is repeated; answered acked, or pending until all have acknowledged
    PREVIOUS_ACK = 5  #: it acknowledges the previous use, and is answered
    EARLY = 6  #: it is a partial activation of the next use, before all have acknowledged this one
    PREMATURE_ACK = 7  #: it acknowledges a sum that is not complete
    STALE = 8  #: it is of another use of the slot
    WRONG_SLOT = 9  #: its slot is outside the job's range
    WRONG_RUN = 10  #: its epoch is not the job's
    WRONG_WORKER = 11  #: its ``bm`` is not exactly the bit of the port that it came by
    WRONG_JOB = 12  #: its job is not there, or has nobody at this port
    MALFORMED = 13  #: its length is wrong, bits are set that are zero, or only a switch may send it
    FOREIGN = 14  #: it has another destination, ethertype or version
    CORRUPT = 15  #: the MAC says that its checksum is wrong: `tuser` is 1 with its last beat


class SwitchParams(
    PacketSwitchParams,
    suffix="p{ports}_s{slots}_j{jobs}_{lanes}x{value_bits}_i{ingress_depth}_e{egress_depth}",
):
    """Sets the sizes of P4SGD's switch.

    Narrow lanes are for proofs: values are truncated at the input.
    """

    lanes: int = whole(1, LANES, default=LANES)  #: number of activations that are added
    value_bits: int = whole(4, PAYLOAD_BITS, default=PAYLOAD_BITS)  #: width of an activation
    #: whether a slot has a shadow copy of its sum in place of acknowledgements, as in SwitchML
    shadow: bool = tagged("_shadow", default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.slots * self.copies > MAX_ENTRIES:
            raise ValueError(
                f"slots must be at most {MAX_ENTRIES // self.copies} with shadow copies, because"
                f" they fill the memory of {MAX_ENTRIES} sums: {self.slots}"
            )

    only_answers = ("acked", "saturated")
    slot_field = "seq"
    verdict = Verdict

    @property
    def frames(self) -> FrameFormat:
        """Return the format of P4SGD's frames."""
        return FRAMES

    @property
    def fields(self) -> dict[str, int]:
        """Describe the fields that the rule reads; a pending answer has ``is_agg``, too."""
        return {"seq": 16, "use": 8, "is_agg": 1}

    @property
    def payload(self) -> data.ArrayLayout:
        """Describe the activations of a packet."""
        return data.ArrayLayout(signed(self.value_bits), self.lanes)

    @property
    def agg(self) -> data.ArrayLayout:
        """Describe the exact sum of activations over all ports."""
        return data.ArrayLayout(signed(self.value_bits + self.port_bits), self.lanes)

    @property
    def copies(self) -> int:
        """Return the number of copies of a slot's sum: that of even uses, that of odd ones."""
        return 1 + self.shadow

    def entry_of(self, header: Any) -> Value:
        """Return the copy that a packet is for."""
        return Cat(header.use[0], header.seq) if self.shadow else header.seq

    @property
    def state(self) -> data.StructLayout:
        """Describe the state of a slot, or of a copy of its sum."""
        bitmaps, flags = ("agg_bm", "ack_bm"), ("summed", "finished")
        if self.shadow:
            bitmaps, flags = bitmaps[:1], flags[:1]
        return data.StructLayout(
            {
                "use": 8,
                # ports that are in the sum, and ports that have acknowledged it
                **dict.fromkeys(bitmaps, self.ports),
                **dict.fromkeys(flags, 1),  # all of the job's ports are in that bitmap
                "agg": self.agg,
            }
        )

    @property
    def more_cycles(self) -> int:
        """Return the additional cycles of the memory of slots, if it is a deep one."""
        return MORE_CYCLES if self.slots * self.copies > MAX_SLOTS_AT_ONCE else 0

    @property
    def slots_memory(self) -> MemoryParams:
        """Return the sizes of the memory of slots."""
        return MemoryParams(
            shape=self.state,
            depth=self.slots * self.copies,
            style="ultra",
            output_registers=1 + self.more_cycles,
        )

    @property
    def settling(self) -> int:
        """Return the cycles of every switch, plus the additional ones of the slots' memory."""
        return super().settling + self.more_cycles

    @property
    def answer(self) -> data.StructLayout:
        """Describe an answer, the ports that it goes to, and its sum."""
        return data.StructLayout(
            {
                "bm": self.ports,  # ports that it goes to
                "acked": 1,  # it is no sum; it is pending if header.is_agg is 1, too
                "saturated": self.lanes,  # the lanes of a sum that were clamped
                "header": self.header,
                "payload": self.payload,
            }
        )
