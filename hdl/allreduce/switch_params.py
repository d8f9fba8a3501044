"""Describes the sizes and layouts of a switch of AllReduces of many numbers."""

from amaranth.lib import data
from amaranth.utils import bits_for

from hdl.allreduce.frame import HEADER_WORDS, NUMBER_BYTES, WideFrameFormat, wide_format
from hdl.allreduce.wide_params import WideParams, WideVerdict
from hdl.common.crossbar import CrossbarParams
from hdl.common.fifo import FifoParams
from hdl.common.packets import AXIS, BEAT_BYTES
from hdl.common.params import same_as, tagged, whole
from hdl.switch.frame_format import FrameFormat
from hdl.switch.packet_port import PacketPortParams
from hdl.switch.params import PacketSwitchParams

LANES = BEAT_BYTES // NUMBER_BYTES


class AllReduceSwitchParams(
    PacketSwitchParams,
    suffix="p{ports}_b{banks}_s{slots}_j{jobs}_i{ingress_depth}_e{egress_depth}",
):
    """Sets the sizes of a switch; slot s is in bank s modulo ``banks``."""

    slots: int = whole(4, 1 << 16, power_of_two=True, default=4096)  #: most AllReduces under way
    #: most beats of frames that can wait at each port; see :attr:`lossless_depth`
    ingress_depth: int = whole(32, 1 << 16, power_of_two=True, default=512)
    #: most beats of answers that can wait at each port
    egress_depth: int = whole(64, 1 << 16, default=512)
    banks: int = whole(2, 32, power_of_two=True, default=8)  #: banks, each with its adder
    #: most numbers of a frame, of 32 bits; more than 370 need links that take jumbo frames
    most_numbers: int = same_as(WideFrameFormat, "most_numbers", default=256, tag="_n{}")
    announces: bool = tagged("_announces", default=False)  #: whether there is a port ``coming``

    only_answers = ("acked",)
    slot_field = "seq"
    verdict = WideVerdict

    def __post_init__(self) -> None:
        super().__post_init__()
        least, most = 2 * self.banks, self.banks << 11
        if not least <= self.slots <= most:
            raise ValueError(
                f"slots must be from {least} to {most}, 2 to 2048 of each bank: {self.slots}"
            )
        frame = self.frames.beats
        if self.egress_depth <= frame:
            raise ValueError(
                f"egress_depth must be above {frame}, the beats of the longest answer:"
                f" {self.egress_depth}"
            )
        try:
            _ = self.port
        except ValueError as error:
            raise ValueError(str(error).replace("words", "ingress_depth", 1)) from None

    @property
    def frames(self) -> FrameFormat:
        """Return the format of frames."""
        return wide_format(self.most_numbers)

    @property
    def lossless_depth(self) -> int:
        """Return the ``ingress_depth`` that loses nothing when all hosts begin at once.

        Then a port's first frame waits until the bank has taken a frame of each other port, while
        frames for other banks come behind it. With less, frames are lost and come after a timeout.
        """
        return 1 << ((self.ports - 1) * self.frames.beats).bit_length()

    @property
    def fields(self) -> dict[str, int]:
        """Describe the fields that the rule reads."""
        return {
            "seq": 16,
            "use": 8,
            "is_agg": 1,
            "operation": 2,
            "count": bits_for(self.most_numbers),
        }

    @property
    def payload(self) -> None:
        """Numbers come beside a packet's fields, beat by beat."""

    @property
    def clears_slots(self) -> bool:
        """Each bank clears its own slots."""
        return False

    @property
    def bank(self) -> WideParams:
        """Return the sizes of a bank, whose answers repeat job and epoch."""
        return WideParams(
            ports=self.ports,
            slots=self.slots // self.banks,
            lanes=LANES,
            first=HEADER_WORDS,
            beats=self.most_numbers // LANES,
            tag_bits=self.tag.size,
        )

    @property
    def tag(self) -> data.StructLayout:
        """Describe what a packet has of its job."""
        return data.StructLayout({"job": self.job_bits, "epoch": 16})

    @property
    def bank_bits(self) -> int:
        """Return the lowest bits of a slot, which say in which bank it is."""
        return bits_for(self.banks - 1)

    @property
    def answer(self) -> data.StructLayout:
        """Describe an answer without its numbers."""
        return self.bank.answer

    @property
    def port(self) -> PacketPortParams:
        """Return the sizes of the queue of frames at a port."""
        return PacketPortParams(
            frames=self.frames, words=self.ingress_depth, follows=True, early=True
        )

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat of a good frame, and the port that it came by."""
        return data.StructLayout({"data": AXIS.data_bits, "sender": self.port_bits, "last": 1})

    @property
    def crossbar(self) -> CrossbarParams:
        """Return the sizes of the crossbar from ports to banks."""
        return CrossbarParams(
            shape=self.beat,
            inputs=self.ports,
            outputs=self.banks,
            last_bit=self.beat["last"].offset,
            announces=True,
        )

    @property
    def numbers(self) -> data.StructLayout:
        """Describe a beat of a packet's numbers, with its header and the port that it came by."""
        header = data.StructLayout({"bm": 32, "job": 8, "epoch": 16, **self.fields})
        numbers = {name: self.bank.beat.members[name] for name in ("number", "last", "numbers")}
        return data.StructLayout({"header": header, "sender": self.port_bits, **numbers})

    @property
    def clearing(self) -> data.StructLayout:
        """Describe the slots of a job that starts, and its ports."""
        return data.StructLayout({"valid": 1, "ports": self.ports, "base": 16, "end": 17})

    @property
    def answered(self) -> data.StructLayout:
        """Describe a beat of an answer's frame; ``words`` has the number of its last word."""
        return data.StructLayout({"data": AXIS.data_bits, "words": bits_for(LANES - 1), "last": 1})

    @property
    def egress_fifo(self) -> FifoParams:
        """Return the sizes of the queue of answers that wait at a port."""
        return FifoParams(
            shape=self.answered,
            depth=self.egress_depth,
            style="block",
            output_register=True,
            passes=True,
        )
