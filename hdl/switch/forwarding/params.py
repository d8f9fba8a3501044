"""Sets the sizes of a switch that forwards Ethernet packets, and lays out what its parts share."""

from amaranth.lib import data
from amaranth.utils import ceil_log2

from hdl.common.fifo import FifoParams
from hdl.common.packets import BEAT, BEAT_BYTES, MAX_MTU
from hdl.common.params import Params, choice, same_as, whole
from hdl.switch.classifier import Recogniser

GROUPS = 16
GROUP_BITS = 4
PORT_BITS = 4
MAC_BITS = 48
WAYS = 4
VID_BITS = 12
CODE_BITS = 7  #: of a DSCP, or 64 and a VLAN priority
DSCPS, PRIORITIES = 64, 8
CODES = DSCPS + PRIORITIES
SOURCE_BITS = 4
MAX_SOURCES = 1 << SOURCE_BITS  #: classes and engines that may share a port
#: beats of an output queue that may be on their way when it counts as open
SLACK = 8
#: addresses of a packet memory that are never in use, so that the next ones are always known
SPARE = 16


class ForwardingParams(Params, suffix="{ports}x{classes}_{beats}"):
    """Sets the ports of a switch, its classes of traffic, and the sizes of memories and table."""

    ports: int = whole(2, 16, default=8)  #: number of ports
    #: number of classes of traffic; class c is priority c of PFC
    classes: int = choice(2, 4, 8, default=4)
    #: beats that wait at an input, an equal share for each class
    beats: int = whole(128, 1 << 16, power_of_two=True, default=8192)
    style: str = same_as(FifoParams, "style", default="ultra")  #: kind of their memory
    #: bytes of the longest packet, without its checksum
    max_bytes: int = whole(1514, MAX_MTU, default=MAX_MTU)
    #: beats of each output's queue of each class
    output_beats: int = same_as(FifoParams, "depth", default=512)
    #: rows of the MAC table, of 4 entries each
    rows: int = whole(4, 1 << 14, power_of_two=True, default=256)
    #: beats that a neighbour may still send of a class after its pause has been requested
    headroom: int = whole(0, default=1584)
    #: beats after which a queue that sends from an input leaves its turn to others
    burst: int = whole(1, 255, default=64)
    #: cycles of a unit of the register ``ageing``
    age_cycles: int = whole(1, 1 << 20, default=250_000)
    #: protocols of the packets that go to each engine instead of being forwarded
    recognisers: tuple[tuple[Recogniser, ...], ...] = ()

    @property
    def suffix(self) -> str:
        """Return the end of the module's name, which tells the number of engines, if there are."""
        return super().suffix + (f"_engines_{self.engines}" if self.engines else "")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sources > MAX_SOURCES:
            raise ValueError(
                f"recognisers must be of at most {MAX_SOURCES - self.classes} engines:"
                f" {self.engines}"
            )
        if self.output_beats < self.longest + SLACK:
            raise ValueError(
                f"output_beats must be at least {self.longest + SLACK}, for the longest packet:"
                f" {self.output_beats}"
            )
        if self.share < self.headroom + self.longest:
            raise ValueError(
                f"beats must be at least {self.classes} times"
                f" {self.headroom + self.longest + SPARE // 2}, for the headroom and the longest"
                f" packet: {self.beats}"
            )

    @property
    def engines(self) -> int:
        """Return the number of engines, which take some packets and send others."""
        return len(self.recognisers)

    @property
    def sources(self) -> int:
        """Return the number of sources that share a port: the classes, then the engines."""
        return self.classes + self.engines

    @property
    def longest(self) -> int:
        """Return the number of beats of the longest packet."""
        return -(-self.max_bytes // BEAT_BYTES)

    @property
    def share(self) -> int:
        """Return the beats of an input's memory that a class may use."""
        return self.beats // self.classes - SPARE // 2

    @property
    def class_bits(self) -> int:
        """Return the width of a class's number."""
        return ceil_log2(self.classes)

    @property
    def address_bits(self) -> int:
        """Return the width of an address of an input's memory."""
        return ceil_log2(self.beats)

    @property
    def row_bits(self) -> int:
        """Return the width of the number of a row of the MAC table."""
        return ceil_log2(self.rows)

    @property
    def stored(self) -> data.StructLayout:
        """Describe a beat on its way into an input's memory.

        ``write`` stores it for the outputs of ``mask``. ``ends`` comes with the last beat of a
        packet, written or not; with ``keep`` the packet stays, if there is an output.
        """
        return data.StructLayout(
            {
                "write": 1,
                "ends": 1,
                "keep": 1,
                "class_": self.class_bits,
                "mask": self.ports,
                "beat": BEAT,
            }
        )

    @property
    def queued(self) -> data.StructLayout:
        """Describe a beat that waits in a queue: where it is, and for how many outputs."""
        return data.StructLayout(
            {"address": self.address_bits, "last": 1, "copies": ceil_log2(self.ports + 1)}
        )

    @property
    def turn(self) -> data.StructLayout:
        """Describe whose packets an input sends: those for one output, of one class."""
        return data.StructLayout({"valid": 1, "output": self.ports, "class_": self.class_bits})

    @property
    def write(self) -> data.StructLayout:
        """Describe a change of some entries of a row of the MAC table."""
        return data.StructLayout(
            {"ways": WAYS, "row": self.row_bits, "entries": data.ArrayLayout(ENTRY, WAYS)}
        )


#: an entry of the MAC table; ``fresh``: its address has sent since the last scan for old ones
ENTRY = data.StructLayout(
    {"mac": MAC_BITS, "group": GROUP_BITS, "port": PORT_BITS, "static": 1, "fresh": 1, "valid": 1}
)
#: which address of which group has sent from which port
LEARNED = data.StructLayout({"mac": MAC_BITS, "group": GROUP_BITS, "port": PORT_BITS})
#: which VLAN id, if any, a group has
VLAN = data.StructLayout({"vid": VID_BITS, "used": 1})
