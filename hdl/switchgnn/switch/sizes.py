"""Sets the sizes of SwitchGNN's switch, and the widths and lengths that follow from them."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from amaranth.hdl import Cat, Const, ShapeLike, Value, signed
from amaranth.lib import data
from amaranth.utils import bits_for, ceil_log2

from hdl.common.checks import check_range
from hdl.common.memory import STYLES
from hdl.common.params import choice, same_as, whole
from hdl.switch.frame_format import FrameFormat
from hdl.switch.params import PacketSwitchParams
from hdl.switchgnn.protocol import (
    ACK_BITS,
    FEATURE_BITS,
    SUM_BITS,
    Kind,
    frame_bytes,
    frame_format,
    payload_bytes,
)
from hdl.switchgnn.switch.judge.verdict import LinkVerdict, Verdict
from hdl.switchgnn.switch.tables.table_memory_params import TableMemoryParams

TURN_BITS = 32  #: width of a turn's number, which never wraps
TAG_BITS = 8  #: low bits of a turn's number that an aggregator stores
SEQ_BITS = 32  #: width of a frame's number in its turn
ENTRY_BITS = 16  #: width of an entry of a row of lists: the index, and a valid bit above it
INDEX_BITS = ENTRY_BITS - 1
COUNT_BITS = 16  #: width of the number of contributions that an aggregator expects
DESCRIPTOR_BITS = 32  #: number of contributions expected, and from bit 16 on the port of the result
OPEN_TURNS = 2  #: most turns that a job may have open
LEVEL_BITS = 16  #: width of a number of beats that wait at a port
PROGRAM_STEPS = 256  #: most steps of a job's turn program
CHIP, MEMORY = "chip", "memory"  #: places of the tables
#: Most rows of a table by its place: in memory, those of 16 ports of 256 MB with a single bank.
MAX_ROWS = {CHIP: 1 << 20, MEMORY: 1 << 31}
READ_CYCLES = 4  #: cycles from a chosen READ to its sum
#: cycles from a chosen READ to its delivery, with all lanes in one die: see delivery_cycles
DELIVERY_CYCLES = READ_CYCLES + 2
ABOVE_BITS = 6  #: width of the number of ports that lead to switches above
LINK_WINDOW = 32  #: most PARTIALs of a turn that are stored until another switch acknowledges them


class VerdictOfSizes:
    """Returns the verdicts of a switch by its sizes: one with links has two more."""

    def __get__(self, sizes: Any, owner: type) -> Any:
        return LinkVerdict if sizes is not None and sizes.links else Verdict


class GnnSwitchSizes(PacketSwitchParams):
    """Sets the sizes of SwitchGNN's switch: P banks of aggregators of L sums each."""

    #: aggregators of a bank
    slots: int = whole(2, 1 << INDEX_BITS, power_of_two=True, default=4096)
    #: beats that can wait at each port
    ingress_depth: int = same_as(PacketSwitchParams, "ingress_depth", default=1024)
    #: beats of results and features that can wait at each port
    egress_depth: int = same_as(PacketSwitchParams, "egress_depth", default=512)
    #: P: banks, and so aggregators in a row of lists
    banks: int = whole(1, 16, power_of_two=True, default=8)
    #: L: features of a frame and sums of an aggregator
    lanes: int = whole(2, 128, power_of_two=True, default=128)
    #: W: frames from a sender's oldest to its newest
    window: int = whole(2, ACK_BITS, power_of_two=True, default=128)
    #: place of lists and descriptors: on the chip, or in HBM behind AXI ports
    tables: str = choice(*MAX_ROWS, default=CHIP)
    #: rows of lists of all jobs together
    rows: int = whole(2, MAX_ROWS[MEMORY], power_of_two=True, default=4096)
    #: rows of descriptors of all jobs together
    descriptor_rows: int = whole(2, MAX_ROWS[MEMORY], power_of_two=True, default=4096)
    #: AXI ports over which tables in memory are spread
    table_ports: int = same_as(TableMemoryParams, "ports", default=8)
    #: width of a byte address of each of these ports
    table_address_bits: int = same_as(TableMemoryParams, "address_bits", default=28)
    #: frames that can wait for their lists
    tasks: int = whole(16, 512, power_of_two=True, default=32)
    style: str = choice(*STYLES, default="ultra")  #: kind of memory of the aggregators
    maxima: bool = False  #: whether a job may take the largest contributions in place of sums
    links: int = 0  #: number of ports, the last ones, that lead to other switches; 0: one level
    # With slr_stages, the lower lanes of all aggregators are in one die, the upper ones in another.
    #: registers each way to the upper lanes' die; 0: one die
    slr_stages: int = whole(0, 4, default=0)

    only_answers: ClassVar[tuple[str, ...]] = ()
    slot_field: ClassVar[str | None] = None
    verdict: ClassVar = cast(Any, VerdictOfSizes())

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rows", "descriptor_rows"):
            check_range(name, getattr(self, name), 2, MAX_ROWS[self.tables])
        check_range("links", self.links, 0, self.ports)
        check_range("egress_depth", self.egress_depth, self.result_beats, 1 << 16)

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: every size."""
        memory = f"_m{self.table_ports}a{self.table_address_bits}" if self.in_memory else ""
        links = f"_l{self.links}" if self.links else ""
        maxima = "_max" if self.maxima else ""
        dies = f"_x{self.slr_stages}" if self.slr_stages else ""
        return (
            f"p{self.ports}_{self.banks}x{self.slots}x{self.lanes}_w{self.window}_j{self.jobs}"
            f"_r{self.rows}_d{self.descriptor_rows}_t{self.tasks}_i{self.ingress_depth}"
            f"_e{self.egress_depth}_{self.style}{memory}{links}{maxima}{dies}"
        )

    @property
    def in_memory(self) -> bool:
        """Return whether tables are in external memory."""
        return self.tables == MEMORY

    @property
    def first_link(self) -> int:
        """Return the number of the first port that leads to another switch."""
        return self.ports - self.links

    def above_mask(self, above: Value) -> Value:
        """Return the bits of the last ``above`` ports, if they lead to other switches."""
        links = range(self.first_link, self.ports)
        return Cat(Const(0, self.first_link), *(above >= self.ports - k for k in links))

    @property
    def link_window(self) -> int:
        """Return how many PARTIALs of a turn may be under way to another switch."""
        return min(self.window, LINK_WINDOW)

    @property
    def frames(self) -> FrameFormat:
        """Describe the frames of the switch's jobs."""
        return frame_format(self.lanes)

    @property
    def fields(self) -> Mapping[str, ShapeLike]:
        """Describe the fields of a frame that are judged, besides its job and its epoch."""
        return {
            "kind": Kind,
            "turn": TURN_BITS,
            "seq": SEQ_BITS,
            "list": 32,
            "source": 32,
            "raw": self.ports,
            "rows": 16,
            **({"ecn": 1} if self.links else {}),  # ACK of another switch
        }

    @property
    def payload(self) -> None:
        """Return None: payloads have a queue of their own."""

    @property
    def sums(self) -> data.ArrayLayout:
        """Describe the sums of an aggregator, the payload of a PARTIAL and of a RESULT."""
        return data.ArrayLayout(signed(SUM_BITS), self.lanes)

    @property
    def bank_sums(self) -> data.ArrayLayout:
        """Describe the sums of a bank: those of all lanes, or of the lower half."""
        lanes = self.lanes // 2 if self.slr_stages else self.lanes
        return data.ArrayLayout(signed(SUM_BITS), lanes)

    @property
    def delivery_cycles(self) -> int:
        """Return the cycles from a chosen READ to its delivery.

        With lanes in two dies it is longer by the registers there and back, less one: the first
        register of the way back is the delivery's own.
        """
        return DELIVERY_CYCLES + (2 * self.slr_stages - 1 if self.slr_stages else 0)

    @property
    def features(self) -> data.ArrayLayout:
        """Describe the payload of a FEATURE."""
        return data.ArrayLayout(signed(FEATURE_BITS), self.lanes)

    @property
    def bank_bits(self) -> int:
        """Return the width of a bank's number."""
        return max(1, ceil_log2(self.banks))

    @property
    def count_bits(self) -> int:
        """Return the width of a number of aggregators of a bank."""
        return bits_for(self.slots)

    @property
    def result_beats(self) -> int:
        """Return the number of beats of a RESULT, the longest frame."""
        return self.frames.beats

    @property
    def raw_beats(self) -> int:
        """Return the number of beats of a RAW."""
        return -(-frame_bytes(Kind.RAW, self.lanes) // self.frames.beat_bytes)

    @property
    def payload_beats(self) -> int:
        """Return the number of beats of the longest frame's payload."""
        return payload_bytes(Kind.RESULT, self.lanes) // self.frames.beat_bytes
