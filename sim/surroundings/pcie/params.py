"""Sets the sizes of a simulated host behind PCI Express, and the bundles between its parts."""

from pathlib import Path

from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from hdl.common.params import Params, choice, whole
from hdl.pcie.axis import DATA_BITS, SEGMENT_DWORDS
from hdl.pcie.descriptors import COMPLETION, DWORD_BITS
from sim.golden.pcie_link import LINK_BYTES

HOST_ARRAY = Path(__file__).with_name("pcie_host_array.sv")  #: C++ that every such simulation needs
READ_DEPTH = 1024  #: reads under way, at most
WINDOW = 8  #: reads that are answered at the same time, at most
TIME_BITS = 16
RATE_BITS = 8  #: fraction of a byte in ``rate``
SIZE_BITS = 13  #: width of a packet's bytes on the link
CLOCK_HZ = 250e6  #: of the block's interfaces
#: ``rate`` of Gen3 x16, or of x8 with half the width
RATES = {512: round(LINK_BYTES / CLOCK_HZ * (1 << RATE_BITS))}
RATES[256] = RATES[512] // 2


class Split(enum.Enum, shape=2):
    """Names how a host divides the answer to a read into completions."""

    LARGEST = 0  #: as few as may be: each as long as the largest payload and a boundary allow
    ALIGNED = 1  #: cut where an address is a multiple of the largest payload
    EVERY = 2  #: cut at every boundary
    RANDOM = 3  #: cut at random boundaries


class Fault(enum.Enum, shape=5):
    """Names what is wrong with a completion as the block hands it on; some end their read."""

    NONE = 0
    POISONED = 1  #: its data is marked as wrong
    POISONED_CODE = 2  #: the same, by the block's code
    UNSUPPORTED = 3  #: status UR, and the read ends
    ABORTED = 4  #: status CA, and the read ends
    EMPTY = 5  #: no data has come, by the block's code, and the read ends
    REMAINING = 6  #: the bytes that are to come are others
    LONGER = 7  #: it has a dword more
    ELSEWHERE = 8  #: its address is another
    ADDRESS = 9  #: the same, by the block's code
    MISMATCH = 10  #: it is of another requester or class, by the block's code
    DISCONTINUED = 11  #: the block has lost some of its data
    EARLY_END = 12  #: nothing comes behind it, though something should
    NO_END = 13  #: nothing comes behind it, though it is not said to be the last
    TWICE = 14  #: it comes again, with the code of a tag that the block does not know
    LOST = 15  #: neither it nor what is behind it comes
    RESET = 16  #: the function is reset: the read ends, by the block's code


#: Counts what the link has carried, modulo 2**32. ``up`` and ``down`` are bytes to and from the
#: host, headers and framing included; ``payload``: data of completions; ``lost``: beats of writes
#: for which the host has no memory; ``most``: reads that were under way at a time.
COUNTS = data.StructLayout(
    dict.fromkeys(
        ("reads", "writes", "completions", "unsupported", "lost", "up", "down", "payload", "most"),
        32,
    )
)


class PcieHostParams(Params, suffix="{data_bits}_a{address_bits}"):
    """Sets the width of the block's interfaces, and how large host memory can be."""

    data_bits: int = choice(*DATA_BITS, default=512)  #: width of a beat
    address_bits: int = whole(13, 34, default=28)  #: width of an address of host memory

    @property
    def lanes(self) -> int:
        """Return the dwords of a beat."""
        return self.data_bits // DWORD_BITS

    @property
    def segments(self) -> int:
        """Return how many completions can begin in a beat."""
        return self.lanes // SEGMENT_DWORDS

    @property
    def place_bits(self) -> int:
        """Return the width of the number of a dword of host memory."""
        return self.address_bits - 2

    @property
    def settings(self) -> data.StructLayout:
        """Describe what a simulation can change without being built again."""
        return data.StructLayout(
            {
                "latency": 12,  # cycles from a read on RQ to RC, without what its bytes take
                "rate": 16,  # 1/256 bytes that the link carries in a cycle, each way
                "reads": 11,  # reads that the host takes before it has answered one, 1..1024
                "payload": 3,  # a completion has at most 128 << payload bytes of data, 0..5
                "boundary": 1,  # the read completion boundary is 128 bytes, not 64
                "split": Split,
                "window": 4,  # reads that are answered at the same time, 1..8; 1: in order
                "slow": 8,  # chance in 256 of a read to be answered only ``late`` cycles later
                "late": 14,  # and it is one of the window meanwhile
                "stall": 8,  # chance in 256, every cycle, of RQ not to take, and of RC not to give
                "faults": 16,  # chance in 65,536 of a completion to have a Fault
                "timeout": 14,  # cycles until the block ends a read of which nothing comes any more
                "seed": 32,  # of chances; read after reset, mixed with index
            }
        )

    @property
    def read(self) -> data.StructLayout:
        """Describe a read, or what is left of it; ``place`` is the number of its next dword.

        ``skip`` bytes of that are not wanted, ``bytes`` behind them are; ``nowhere``: the host has
        no memory there.
        """
        return data.StructLayout(
            {
                "place": self.place_bits,
                "dwords": 11,
                "skip": 2,
                "bytes": 13,
                "tag": 8,
                "nowhere": 1,
            }
        )

    @property
    def timed_read(self) -> data.StructLayout:
        """Describe a read on its way, and when it may be answered."""
        return data.StructLayout({"read": self.read, "due": TIME_BITS})

    @property
    def completion(self) -> data.StructLayout:
        """Describe a completion: ``dwords`` with its descriptor, data from ``place`` on.

        ``first`` and ``last`` enable the bytes of its first and last dword of data. The block loses
        data of one that is ``discontinued``, ends the read behind one that ``starves`` it by a
        time-out, hands none on that is ``hidden``, and one ``twice``.
        """
        return data.StructLayout(
            {
                "descriptor": COMPLETION,
                "place": self.place_bits,
                "dwords": 11,
                "first": 4,
                "last": 4,
                "discontinued": 1,
                "starves": 1,
                "hidden": 1,
                "twice": 1,
            }
        )

    @property
    def traffic(self) -> data.StructLayout:
        """Describe what happens in a cycle: a read is taken, a completion is handed on."""
        return data.StructLayout(
            {
                "read": data.StructLayout({"valid": 1, "address": 64, "bytes": 13, "tag": 8}),
                "completion": data.StructLayout(
                    {"valid": 1, "descriptor": COMPLETION, "discontinued": 1}
                ),
            }
        )

    @property
    def write(self) -> data.StructLayout:
        """Describe a beat of data that is written from dword ``place`` on."""
        return data.StructLayout(
            {
                "valid": 1,
                "place": self.place_bits,
                "enables": self.data_bits // 8,
                "data": self.data_bits,
            }
        )

    @property
    def index_bits(self) -> int:
        """Return the width of the number of a beat of host memory."""
        return self.address_bits - ceil_log2(self.data_bits // 8)

    @property
    def access(self) -> data.StructLayout:
        """Describe a processor's access; what the beat held before is there a cycle later."""
        return data.StructLayout(
            {
                "valid": 1,
                "beat": self.index_bits,
                "strobes": self.data_bits // 8,  # of the bytes that are written
                "data": self.data_bits,
            }
        )


def pcie_host_settings(params: PcieHostParams, **changes: int) -> dict[str, int]:
    """Return settings of a host on a full link: 1.5 us, completions of 256 bytes, in order."""
    usual = {
        "latency": round(1.5e-6 * CLOCK_HZ),
        "rate": RATES[params.data_bits],
        "reads": READ_DEPTH,
        "payload": 1,
        "split": Split.ALIGNED.value,
        "window": 1,
        "seed": 1,
    }
    return usual | changes


def host_file(index: int, path: Path) -> str:
    """Return the argument that fills host ``index`` with the bytes of ``path``, its memory."""
    return f"+pcie_host_{index}={path}"


def host_dump(index: int, path: Path) -> str:
    """Return the argument that names where the memory of host ``index`` is dumped."""
    return f"+pcie_dump_{index}={path}"
