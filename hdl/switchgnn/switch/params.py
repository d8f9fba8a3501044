"""The sizes of SwitchGNN's switch, and the bundles that its parts exchange."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from amaranth.hdl import Shape, ShapeLike, signed
from amaranth.lib import data, enum
from amaranth.utils import bits_for, ceil_log2

from hdl.common.checks import check_range, is_power_of_two
from hdl.common.fifo import DISTRIBUTED_WORDS, FifoParams
from hdl.common.memory import STYLES, MemoryParams
from hdl.switch.frame_format import FrameFormat
from hdl.switch.packet_port import PacketPortParams
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
from hdl.switchgnn.switch.read_schedule_params import ReadScheduleParams
from hdl.switchgnn.switch.row_reader import RowReaderParams

TURN_BITS = 32  #: of a turn's number, which never wraps
TAG_BITS = 8  #: of a turn's number that an aggregator keeps
SEQ_BITS = 32  #: of a frame's number in its turn
ENTRY_BITS = 16  #: of an entry of a row of lists: the index, and above it whether it is valid
INDEX_BITS = ENTRY_BITS - 1
COUNT_BITS = 16  #: of the contributions that an aggregator expects
DESCRIPTOR_BITS = 32  #: the contributions expected, and from bit 16 on the port of the result
OPEN_TURNS = 2  #: most turns that a job may have open
LEVEL_BITS = 16  #: of a number of beats that wait at a port
PROGRAM_STEPS = 256  #: most steps of a job's turn program
READ_CYCLES = 3  #: from a READ that is chosen to its sum
DELIVERY_CYCLES = READ_CYCLES + 2  #: and to what is delivered to its port


class Verdict(enum.Enum, shape=5):
    """Says what became of a frame; of those from ``WRONG_RUN`` on the last that applies."""

    NONE = 0  #: there was no frame
    ADDED = 1  #: FEATURE, PARTIAL: it is new
    REPEATED = 2  #: FEATURE, PARTIAL: it is not, and is acknowledged at once
    AHEAD = 3  #: FEATURE, PARTIAL: it is beyond the window
    UNLOADED = 4  #: FEATURE, PARTIAL: the turn's aggregators are not loaded yet
    FETCHED = 5  #: FETCH: of an open turn; the sum leaves again if it is complete
    UNREADY = 6  #: FETCH: of an aggregator that the job has not
    DONE = 7  #: of the oldest open turn, be it once more
    OVER = 8  #: DONE: of a turn that has ended; answered by ADVANCE
    EARLY = 9  #: DONE: of a later turn than the oldest open one
    PASSED = 10  #: RAW, RAWFETCH: handed on
    CLOSED = 11  #: of a turn that is not open
    MISPLACED = 12  #: a kind that no worker may send
    WRONG_RUN = 13  #: it is of another epoch than the job's
    WRONG_WORKER = 14  #: it has not exactly the bit of the port that it came by
    WRONG_JOB = 15  #: it is of no active job, or not of one of this port
    MALFORMED = 16  #: of a wrong length or kind, or with bits set that are zero
    FOREIGN = 17  #: it has another destination, ethertype or version
    CORRUPT = 18  #: its checksum is wrong


class BankOperation(enum.Enum, shape=3):
    """Says what a bank does with one of its aggregators."""

    NONE = 0
    ADD = 1  #: a contribution is added; the first one of a turn takes the aggregator
    FETCH = 2  #: a sum that is complete is to leave again, unless it waits to leave already
    READ = 3  #: the first aggregator in the list of a port leaves
    LOAD = 4  #: it gets a descriptor, and belongs to no turn yet


class TableError(enum.Enum, shape=3):
    """Says why a contribution that a list asks for is not added."""

    NONE = 0
    OUTSIDE = 1  #: not an aggregator of the job's region
    UNUSED = 2  #: an aggregator that the block has no destination for
    COMPLETE = 3  #: its sum has all its contributions
    NO_SUCH_ROW = 4  #: a row behind the job's lists


class TaskKind(enum.Enum, shape=3):
    """Says what is to be done for a frame, or for a turn that opens."""

    DROP = 0  #: its payload, if it brought one, is for nobody
    ROWS = 1  #: FEATURE: it is added to the aggregators of its rows, and copied
    ONE = 2  #: PARTIAL: it is added to one aggregator
    FETCH = 3  #: the sum of one aggregator leaves again
    LOAD = 4  #: a turn's aggregators get their descriptors
    FENCE = 5  #: nothing: it says that all before it has been done


@dataclass(frozen=True, kw_only=True)
class GnnSwitchParams(PacketSwitchParams):
    """Sizes of SwitchGNN's switch: P banks of aggregators of L sums each (the design's page)."""

    slots: int = 4096  #: aggregators of a bank, a power of two, 2..32768
    ingress_depth: int = 1024  #: beats that can wait at each port, a power of two
    egress_depth: int = 512  #: beats of results and features that can wait at each port
    banks: int = 8  #: P: aggregators that a row of lists can name, a power of two, 1..16
    lanes: int = 128  #: L: features of a frame and sums of an aggregator, a power of two, 2..128
    window: int = 128  #: W: frames that a sender may be ahead, a power of two, 2..128
    rows: int = 4096  #: rows of lists on chip, a power of two
    descriptor_rows: int = 4096  #: rows of descriptors on chip, a power of two
    tasks: int = 32  #: frames that can wait for their lists, a power of two, 16..512
    style: str = "ultra"  #: of the memory of aggregators: block, ultra or distributed

    only_answers: ClassVar[tuple[str, ...]] = ()
    slot_field: ClassVar[str | None] = None
    verdict: ClassVar = Verdict

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("slots", self.slots, 2, 1 << INDEX_BITS)
        for name, least, most in (
            ("banks", 1, 16),
            ("lanes", 2, 128),
            ("window", 2, ACK_BITS),
            ("rows", 2, 1 << 20),
            ("descriptor_rows", 2, 1 << 20),
            ("tasks", 16, 512),
        ):
            check_range(name, getattr(self, name), least, most)
            if not is_power_of_two(getattr(self, name)):
                raise ValueError(f"{name} must be a power of two: {getattr(self, name)}")
        check_range("egress_depth", self.egress_depth, self.result_beats, 1 << 16)
        if self.style not in STYLES:
            raise ValueError(f"style must be one of {', '.join(STYLES)}: {self.style!r}")

    @property
    def suffix(self) -> str:
        """Tells every size."""
        return (
            f"p{self.ports}_{self.banks}x{self.slots}x{self.lanes}_w{self.window}_j{self.jobs}"
            f"_r{self.rows}_d{self.descriptor_rows}_t{self.tasks}_i{self.ingress_depth}"
            f"_e{self.egress_depth}_{self.style}"
        )

    @property
    def frames(self) -> FrameFormat:
        """Describe the frames."""
        return frame_format(self.lanes)

    @property
    def fields(self) -> Mapping[str, ShapeLike]:
        """Describe what is judged of a frame, beside its job and its epoch."""
        return {
            "kind": Kind,
            "turn": TURN_BITS,
            "seq": SEQ_BITS,
            "list": 32,
            "source": 32,
            "raw": self.ports,
            "rows": 16,
        }

    @property
    def payload(self) -> None:
        """Payloads wait apart from what is judged."""

    @property
    def answer(self) -> data.StructLayout:
        """Describe what goes out: see :attr:`delivery`."""
        return self.delivery

    @property
    def sums(self) -> data.ArrayLayout:
        """Describe the sums of an aggregator, the payload of a PARTIAL and of a RESULT."""
        return data.ArrayLayout(signed(SUM_BITS), self.lanes)

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
        """Return the beats of a RESULT, the longest frame."""
        return self.frames.beats

    @property
    def raw_beats(self) -> int:
        """Return the beats of a RAW."""
        return -(-frame_bytes(Kind.RAW, self.lanes) // self.frames.beat_bytes)

    @property
    def payload_beats(self) -> int:
        """Return the beats of the payload of the longest frame."""
        return payload_bytes(Kind.RESULT, self.lanes) // self.frames.beat_bytes

    # Aggregators.

    @property
    def entry(self) -> data.StructLayout:
        """Describe an aggregator."""
        return data.StructLayout(
            {
                "sums": self.sums,
                "used": 1,  # the block has a destination for it, so that expected is not 0
                "expected": COUNT_BITS,  # contributions
                "remaining": COUNT_BITS,  # contributions that are missing from the sum
                "tag": TAG_BITS,  # of the turn that the sum is of
                "port": self.port_bits,  # that the sum leaves by
                "complete": 1,
                "queued": 1,  # it is in the list of a port
            }
        )

    @property
    def state(self) -> data.StructLayout:
        """Describe an aggregator apart from its sums."""
        fields = self.entry.members
        return data.StructLayout({name: fields[name] for name in fields if name != "sums"})

    @property
    def sums_memory(self) -> MemoryParams:
        """Return the sizes of the memory of a bank's sums."""
        return MemoryParams(bits=self.sums.size, depth=self.slots, style=self.style)

    @property
    def state_memory(self) -> MemoryParams:
        """Return the sizes of the memory of what a bank's aggregators have beside their sums."""
        return MemoryParams(bits=self.state.size, depth=self.slots, style=self.style)

    @property
    def region(self) -> data.StructLayout:
        """Describe where a turn's aggregators are in every bank."""
        return data.StructLayout({"base": self.slot_bits, "count": self.count_bits})

    @property
    def descriptor(self) -> data.StructLayout:
        """Describe what an aggregator is loaded with."""
        return data.StructLayout({"expected": COUNT_BITS, "port": self.port_bits})

    @property
    def bank_command(self) -> data.StructLayout:
        """Describe what a bank does in a cycle."""
        return data.StructLayout(
            {
                "operation": BankOperation,
                "index": INDEX_BITS,  # of the aggregator in the region; READ: none
                "region": self.region,
                "tag": TAG_BITS,  # ADD, FETCH: of the turn; LOAD: of the turn before it
                "port": self.port_bits,  # READ: whose list
                "descriptor": self.descriptor,  # LOAD
            }
        )

    @property
    def bank_result(self) -> data.StructLayout:
        """Describe a sum that leaves its bank."""
        return data.StructLayout(
            {
                "port": self.port_bits,
                "slot": self.slot_bits,  # the index in the bank
                "tag": TAG_BITS,
                "sums": self.sums,
            }
        )

    # Jobs.

    @property
    def port_job(self) -> data.StructLayout:
        """Describe what a port has to know of its job."""
        return data.StructLayout(
            {
                "active": 1,
                "job": self.job_bits,
                "epoch": 16,
                "lo": TURN_BITS,  # the oldest open turn
            }
        )

    @property
    def row_bits(self) -> int:
        """Return the width of a number of rows of lists."""
        return bits_for(self.rows)

    @property
    def descriptor_bits(self) -> int:
        """Return the width of a number of rows of descriptors."""
        return bits_for(self.descriptor_rows)

    @property
    def lists(self) -> data.StructLayout:
        """Describe the rows of lists that a job has."""
        return data.StructLayout({"base": self.row_bits, "count": self.row_bits})

    @property
    def job_tables(self) -> data.StructLayout:
        """Describe what a job is started with, beside its ports and its aggregators."""
        return data.StructLayout(
            {
                "two": 1,  # two turns are open, each with half of the job's aggregators
                "lists": self.lists,
                "last_step": ceil_log2(PROGRAM_STEPS),  # of the turn program
            }
        )

    @property
    def step(self) -> data.StructLayout:
        """Describe a step of a turn program: a block, and the turns that it is done for."""
        return data.StructLayout(
            {
                "first": self.descriptor_bits,  # row of descriptors of the block
                "height": self.count_bits,  # rows that it has
                "turns": TURN_BITS,  # at least 1
            }
        )

    @property
    def job_turns(self) -> data.StructLayout:
        """Describe what a frame has to do with the turns of its job."""
        return data.StructLayout(
            {
                "past": 1,  # its turn has ended
                "lowest": 1,  # is the oldest open one
                "following": 1,  # is the other open one
                "place": 1,  # of its turn among those that are open
                "loaded": 1,  # that turn's aggregators have their descriptors
                "region": self.region,
                "lists": self.lists,
            }
        )

    @property
    def port_region(self) -> data.StructLayout:
        """Describe where the aggregators of a port's job are."""
        return data.StructLayout(
            {
                "base": self.slot_bits,
                "count": self.count_bits,  # of a turn in each bank
                "two": 1,  # turns are open, the odd ones' aggregators behind the even ones'
            }
        )

    @property
    def task(self) -> data.StructLayout:
        """Describe what is to be done, in the order in which frames were judged."""
        return data.StructLayout(
            {
                "kind": TaskKind,
                "brings": 1,  # a payload waits
                "job": self.job_bits,
                "turn": TURN_BITS,
                "region": self.region,
                "list": 32,  # ROWS: first row of the job's lists; ONE, FETCH: aggregator
                "rows": 16,  # ROWS, LOAD: how many
                "first": self.table_bits,  # the first one's place in the table
                "there": 16,  # how many of them the table has
                "source": 32,
                "raw": self.ports,  # ports that get a copy
            }
        )

    @property
    def list_table(self) -> RowReaderParams:
        """Return the sizes of the table of lists."""
        return RowReaderParams(bits=self.row.size, rows=self.rows)

    @property
    def descriptor_row(self) -> data.ArrayLayout:
        """Describe a row of descriptors: one for each bank."""
        return data.ArrayLayout(self.descriptor, self.banks)

    @property
    def descriptor_table(self) -> RowReaderParams:
        """Return the sizes of the table of descriptors."""
        return RowReaderParams(bits=self.descriptor_row.size, rows=self.descriptor_rows)

    @property
    def table_bits(self) -> int:
        """Return the width of a row's place in either table."""
        tables = (self.list_table, self.descriptor_table)
        return max(table.memory.address_bits for table in tables)

    @property
    def issued(self) -> data.StructLayout:
        """Describe whose a row is whose additions begin."""
        return data.StructLayout(
            {
                "job": self.job_bits,
                "turn": TURN_BITS,
                "row": 32,  # of the lists of the job
                "number": 32,  # of the aggregator of a PARTIAL
                "indices": self.indices,
            }
        )

    @property
    def indices(self) -> data.ArrayLayout:
        """Describe the index that each bank is asked for."""
        return data.ArrayLayout(INDEX_BITS, self.banks)

    @property
    def copy(self) -> data.StructLayout:
        """Describe a feature that leaves as RAW."""
        return data.StructLayout(
            {
                "ports": self.ports,
                "job": self.job_bits,
                "turn": TURN_BITS,
                "source": 32,
                "features": self.features,
            }
        )

    @property
    def task_fifo(self) -> FifoParams:
        """Return the sizes of the queue of tasks."""
        return FifoParams(width=self.task.size, depth=self.tasks, refuses=False)

    # The way out.

    @property
    def delivery(self) -> data.StructLayout:
        """Describe what ports send as RESULT or RAW."""
        return data.StructLayout(
            {
                "raw": 1,  # a RAW, whose features are in the lower half of sums
                "job": self.job_bits,
                "epoch": 16,
                "turn": TURN_BITS,
                "list": 32,  # RESULT: number of the aggregator
                "source": 32,  # RAW
                "sums": self.sums,
            }
        )

    @property
    def ack_state(self) -> data.StructLayout:
        """Describe what has come of an open turn by a port, and whether an ACK is to tell."""
        return data.StructLayout(
            {"wanted": 1, "turn": TURN_BITS, "base": SEQ_BITS, "arrived": self.window}
        )

    @property
    def raw_request(self) -> data.StructLayout:
        """Describe a RAWFETCH on its way to the feature's owner."""
        return data.StructLayout({"turn": TURN_BITS, "source": 32, "asking": self.ports})

    @property
    def control_frame(self) -> data.StructLayout:
        """Describe a frame without a payload: ACK, ADVANCE or RAWFETCH."""
        return data.StructLayout(
            {
                "kind": Kind,
                "job": self.job_bits,
                "epoch": 16,
                "turn": TURN_BITS,
                "seq": SEQ_BITS,  # ACK
                "ecn": 1,  # ACK
                "bitmap": ACK_BITS,  # ACK
                "source": 32,  # RAWFETCH
                "raw": self.ports,  # RAWFETCH: who asks
            }
        )

    @property
    def read_schedule(self) -> ReadScheduleParams:
        """Return the sizes of what chooses which bank reads for which port."""
        return ReadScheduleParams(ports=self.ports, banks=self.banks, settling=1, hole_cycles=1)

    @property
    def egress_beat(self) -> data.StructLayout:
        """Describe a beat on its way out; which bytes count follows from the kind of frame."""
        return data.StructLayout({"data": self.frames.axis.data_bits, "last": 1})

    @property
    def egress_fifo(self) -> FifoParams:
        """Return the sizes of the queue of beats that wait at a port; room for each is claimed."""
        return FifoParams(width=self.egress_beat.size, depth=self.egress_depth, refuses=False)

    # The way in.

    @property
    def port_params(self) -> PacketPortParams:
        """Return the sizes of a port."""
        return PacketPortParams(frames=self.frames, words=self.ingress_depth)

    @property
    def stored_head(self) -> data.StructLayout:
        """Describe what is kept of a head while its payload comes."""
        return data.StructLayout(
            {
                "header": self.header,
                "own": 1,  # bm is the bit of the port
                "known": 1,  # the job's number is not too large
                "features": 1,  # its payload is one of features
                "sums": 1,  # or of sums
                "broken": 1,  # no such kind, or bits set that are zero
            }
        )

    @property
    def payload_words(self) -> data.ArrayLayout:
        """Describe a payload in beats."""
        return data.ArrayLayout(self.frames.axis.data_bits, self.payload_beats)

    @property
    def arrival(self) -> data.StructLayout:
        """Describe a frame behind its port."""
        return data.StructLayout(
            {"packet": self.packet, "brings": 1, "payload": self.payload_words}
        )

    @property
    def payload_fifo(self) -> FifoParams:
        """Return the sizes of the queue of payloads; whoever sends sees to it that one fits."""
        style = "distributed" if self.tasks <= DISTRIBUTED_WORDS else "block"
        width = self.payload_words.size
        return FifoParams(width=width, depth=self.tasks, style=style, refuses=False)

    @property
    def row(self) -> data.ArrayLayout:
        """Describe a row of lists: for each bank an index, and whether it is valid."""
        return data.ArrayLayout(data.StructLayout({"index": INDEX_BITS, "valid": 1}), self.banks)

    @property
    def verdict_bits(self) -> int:
        """Return the width of a verdict."""
        return Shape.cast(Verdict).width
