"""Describes the sizes of a concatenator, and the layouts of its internal streams."""

# The fields of a struct are annotated with shapes, which are no types.
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false

from amaranth.hdl import signed
from amaranth.lib import data
from amaranth.utils import bits_for, ceil_log2

from hdl.common.checks import check_range
from hdl.common.memory import STYLES
from hdl.common.packets import BEAT_BYTES, MAX_MTU
from hdl.common.params import Params, choice, whole
from hdl.netsparse.protocol import (
    LENGTH_BITS,
    MAX_PROPERTY_BYTES,
    PACKET_HEADER_BYTES,
    PR_BYTES,
    PR_LAYER,
    READ_PR,
    RESPONSE_BEAT,
    in_group,
)

LINE_BYTES = 128  #: bytes of a line of storage; a physical queue of section 7.2
LEAST_MTU = 128
MOST_DELAY = 50_000  #: as long as the paper lets a PR wait (figure 17)
SPARE_QUEUES = 4  #: queues of the virtual form: with fewer left, the oldest packet is marked
PIPELINE_LINES = 8  #: lines of a packet between its mark and its first line's return
WAITING_PACKETS = 64  #: most marked packets, besides one open packet in every queue


class ConcatenatorParams(Params):
    """Sets the sizes of a concatenator of one class: reads, or responses and errors."""

    payload: bool  #: whether PRs are responses and errors, with a property, else reads
    nodes: int = whole(1, 1 << 16)  #: number of nodes; destinations are 0..nodes-1
    #: most bytes of a packet, all headers included
    mtu: int = whole(LEAST_MTU, MAX_MTU, default=1500)
    #: most bytes of a PR's property
    most_property_bytes: int = whole(4, MAX_PROPERTY_BYTES, multiple_of=2, default=512)
    most_delay: int = whole(1, MOST_DELAY, default=500)  #: largest DelayCycles
    pool: int = 0  #: lines of the virtual form; 0: full form, with an MTU for each destination
    #: most destinations of packets in the virtual form
    destinations: int = whole(2 * SPARE_QUEUES, 256, default=32)
    style: str = choice(*STYLES, default="auto")  #: memory of the lines
    credits: bool = False  #: whether ``events`` report how many beats each PR adds to its packet
    groups: bool = False  #: whether beats mark begin and end of groups of PRs; else each PR is one
    #: width of a PR's label, which is the same for all PRs of a packet
    label_bits: int = whole(0, 16, default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        least = PACKET_HEADER_BYTES + PR_BYTES + self.most_property_bytes
        check_range("mtu", self.mtu, least, MAX_MTU, ", to hold a PR of the largest property")
        if self.virtual:
            check_range("pool", self.pool, 2 * self.reserve, 1 << 15, ", or 0")
        if self.lines > 1 << 16:
            raise ValueError(
                f"{self.lines} lines are too many: the queues of all nodes, an MTU each, may have"
                " at most 65536"
            )

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: all sizes."""
        form = f"v{self.pool}x{self.destinations}" if self.virtual else "full"
        kind = "responses" if self.payload else "reads"
        style = "" if self.style == "auto" else f"_{self.style}"
        return (
            f"{kind}_{self.nodes}_m{self.mtu}_p{self.most_property_bytes}"
            f"_d{self.most_delay}_{form}{style}"
            + "_credits" * self.credits
            + "_groups" * self.groups
            + (f"_label{self.label_bits}" if self.label_bits else "")
        )

    @property
    def virtual(self) -> bool:
        """Return whether it has section 7.2's form, whose memory is the same for all nodes."""
        return self.pool > 0

    @property
    def room(self) -> int:
        """Return the most bytes of a packet after its header."""
        return self.mtu - PACKET_HEADER_BYTES

    @property
    def max_prs(self) -> int:
        """Return the most PRs of a packet."""
        return self.room // PR_BYTES

    @property
    def packet_lines(self) -> int:
        """Return the number of lines that a packet of an MTU takes."""
        return -(-self.room // LINE_BYTES)

    @property
    def pr_lines(self) -> int:
        """Return the number of lines that a PR of the largest property may take."""
        return -(-(PR_BYTES + self.payload * self.most_property_bytes) // LINE_BYTES)

    @property
    def pr_beats(self) -> int:
        """Return the number of beats of a packet with one PR of the largest property."""
        bytes_ = PACKET_HEADER_BYTES + PR_BYTES + self.payload * self.most_property_bytes
        return -(-bytes_ // BEAT_BYTES)

    @property
    def reserve(self) -> int:
        """Return the free lines of the virtual form below which the oldest packet is marked."""
        return 2 * self.pr_lines + PIPELINE_LINES

    @property
    def queues(self) -> int:
        """Return the most packets open at a time: one for every destination, and one for errors."""
        return self.destinations if self.virtual else self.nodes + self.payload

    @property
    def lines(self) -> int:
        """Return the number of lines of storage.

        The full form has an MTU for each queue, and one being emitted.
        """
        return self.pool or (self.queues + 1) * self.packet_lines + PIPELINE_LINES

    @property
    def memory_bits(self) -> int:
        """Return the bits of the lines, of the links between them and of the list of free ones."""
        return self.lines * (8 * LINE_BYTES + 2 * self.line_bits)

    @property
    def packets(self) -> int:
        """Return the most packets open or marked at a time; a PR that would open one more waits."""
        return self.queues + WAITING_PACKETS

    @property
    def expirations(self) -> int:
        """Return the number of the EQ's entries, with those of queues that were marked early."""
        return self.most_delay + self.queues + 2

    @property
    def node_bits(self) -> int:
        """Return the width of a destination's number."""
        return bits_for(max(self.nodes - 1, 1))

    @property
    def queue_bits(self) -> int:
        """Return the width of a queue's index."""
        return max(ceil_log2(self.queues), 1)

    @property
    def line_bits(self) -> int:
        """Return the width of a line's index."""
        return ceil_log2(self.lines)

    @property
    def used_bits(self) -> int:
        """Return the width of the number of a packet's bytes after its header."""
        return bits_for(self.room)

    @property
    def delay_bits(self) -> int:
        """Return the width of DelayCycles."""
        return bits_for(self.most_delay)

    @property
    def time_bits(self) -> int:
        """Return the width of a time, which wraps; it covers the due times of the EQ's entries."""
        return ceil_log2(2 * (1 << self.delay_bits) + 2 * self.queues) + 1

    @property
    def entry_bits(self) -> int:
        """Return the width of an EQ entry's index, which wraps; no two entries inside share one."""
        return bits_for(self.expirations + 4)

    @property
    def expiration(self) -> data.StructLayout:
        """Describe an entry of the EQ: a queue, and the time when it expires."""
        return data.StructLayout({"queue": self.queue_bits, "time": self.time_bits})

    @property
    def label(self) -> dict[str, int]:
        """Return the field of a label, if PRs have one."""
        return {"label": self.label_bits} if self.label_bits else {}

    @property
    def pr(self) -> data.StructLayout:
        """Describe a beat of the stream of PRs."""
        beat = RESPONSE_BEAT if self.payload else READ_PR
        beat = in_group(beat) if self.groups else beat
        return data.StructLayout(beat.members | self.label)

    @property
    def settings(self) -> data.StructLayout:
        """Describe the settings, which software changes only while it is empty.

        With ``concatenate`` = 0 only PRs of a group share a packet.
        """
        return data.StructLayout(
            {
                "delay": self.delay_bits,  # DelayCycles
                "concatenate": 1,
                "node": 32,  # number of this node
                "mac_base": 48,  # of node n: mac_base + n
                "ip_base": 32,  # of node n: ip_base + n
            }
        )

    @property
    def events(self) -> data.StructLayout:
        """Describe the events of a cycle. ``bytes`` and ``prs`` are valid with ``packet``."""
        fields = {
            "packet": 1,  # the last beat of a packet leaves
            "bytes": bits_for(self.mtu),
            "prs": bits_for(self.max_prs),
            "stall": 1,  # a PR waits at the input
            "entered": 1,  # the last beat of a PR enters its queue
            "marked": 1,  # a packet is marked; packets leave in the order of their marks
        }
        if self.credits:
            fields |= {
                "credit": 1,  # a PR entered some cycles ago
                "grows": bits_for(self.pr_beats),  # beats by which that PR made its packet longer
            }
        return data.StructLayout(fields)

    @property
    def arrival(self) -> data.StructLayout:
        """Describe a beat of a PR on its way to its queue."""
        fields = {
            "first": 1,
            "last": 1,
            "alone": 1,  # it joins no open packet, and, without ``ends``, no other PR joins its own
            "error": 1,
            "queue": self.queue_bits,
            "dest": self.node_bits,
            "length": LENGTH_BITS,
            "bytes": bits_for(BEAT_BYTES + PR_BYTES),  # bytes that the beat adds to its packet
            "pr": PR_LAYER.size,
        }
        if self.payload:
            fields["data"] = 8 * BEAT_BYTES
        if self.groups:
            fields["ends"] = 1  # no other PR joins its packet
        return data.StructLayout(fields | self.label)

    @property
    def demand(self) -> data.StructLayout:
        """Describe the room that a PR needs in its packet.

        ``lines``, with its first beat, is the most lines of all its beats.
        """
        # With more bytes than ``most`` before its last beat, no other PR fits after this one.
        return data.StructLayout(
            {"lines": bits_for(self.pr_lines), "most": signed(self.used_bits + 2)}
        )

    @property
    def mark(self) -> data.StructLayout:
        """Describe a marked packet."""
        return data.StructLayout(
            {
                "dest": self.node_bits,
                "error": 1,
                "length": LENGTH_BITS,
                "prs": bits_for(self.max_prs),
                "used": self.used_bits,  # bytes after the packet's header
                "first": self.line_bits,  # number of its first line
                **self.label,
            }
        )

    @property
    def state(self) -> data.StructLayout:
        """Describe an open packet: the fields of its mark, and the line that is being filled."""
        return data.StructLayout({"mark": self.mark, "line": self.line_bits})

    @property
    def outgoing(self) -> data.StructLayout:
        """Describe a packet to be sent, with its header."""
        return data.StructLayout(
            {
                "header": 8 * BEAT_BYTES,  # in lanes
                "prs": bits_for(self.max_prs),
                "used": self.used_bits,
                "first": self.line_bits,
                **self.label,
            }
        )
