"""Describes the sizes of a RIG unit, and the layouts of its inputs and outputs."""

from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from hdl.common.checks import check_range
from hdl.common.packets import BEAT_BYTES
from hdl.common.params import Params, same_as, whole
from hdl.netsparse.limits import COUNT_BITS
from hdl.netsparse.protocol import LENGTH_BITS, MAX_PROPERTY_BYTES
from hdl.netsparse.rig.pending_table import PendingTableParams

ID_BITS = 32  #: width of a PR's id: the pending entry in the low bits, the generation above it
TAG_BITS = 16  #: width of the tag that the host gives a work request
WATCHDOG_BITS = 32  #: width of the watchdog's number of cycles
HOST_ADDRESS_BITS = 64  #: width of an address in a work request


class Cause(enum.Enum, shape=4):
    """Names how a RIG command ended; the first failure counts."""

    DONE = 0  #: every remote property is in host memory
    #: a size or address is illegal, or a descriptor is, or names no client; nothing was done
    COMMAND = 1
    RANGE = 2  #: an idx is not below `columns`
    IDX_READ = 3  #: host memory answered a read of idxs with an error, or not in time
    PROPERTY_WRITE = 4  #: host memory answered a write of a property with an error, or not in time
    FILTER = 5  #: SNIC memory answered an access to the filter with an error, or not in time
    REMOTE = 6  #: the owner answered with an error, or with another length
    WATCHDOG = 7  #: nothing moved for `watchdog` cycles: a packet was lost, or a node is gone
    ARRAY = 8  #: the filter stands for another property array; nothing was done
    DESCRIPTOR = 9  #: host memory answered the read of the descriptor with an error, or not in time


#: Describes what can fail while a command runs, a bit for each.
FAILURES = data.StructLayout(
    {
        cause.name.lower(): 1
        for cause in Cause
        if cause not in (Cause.DONE, Cause.COMMAND, Cause.WATCHDOG, Cause.ARRAY, Cause.DESCRIPTOR)
    }
)

COMPLETION = data.StructLayout({"tag": TAG_BITS, "cause": Cause})


class RigParams(Params, suffix="{pending_entries}_i{idx_bits}_n{nodes}_p{most_property_bytes}"):
    """Sets the sizes of a RIG unit (NetSparse, section 5.3, table 5)."""

    nodes: int = whole(2, 65536, default=128)  #: number of nodes of the cluster
    idx_bits: int = whole(8, 64, default=40)  #: width of an idx
    address_bits: int = whole(20, 64, default=64)  #: width of a byte address of host memory
    #: most bytes of a property
    most_property_bytes: int = whole(4, MAX_PROPERTY_BYTES, multiple_of=4, default=512)
    #: most PRs under way (Pending PR Table)
    pending_entries: int = same_as(PendingTableParams, "entries", default=256)
    lsq_entries: int = whole(8, 256, default=64)  #: most accesses to the idx filter under way
    lsq_reserved: int = 8  #: accesses reserved for sets, at least 2; at least 2 are left for others
    #: bytes of the idx buffer
    idx_buffer_bytes: int = whole(512, 16384, power_of_two=True, default=4096)
    #: bytes of the property buffer
    property_buffer_bytes: int = whole(512, 65536, power_of_two=True, default=4096)
    transmit_prs: int = whole(2, 1024, default=16)  #: most PRs in the Tx queue
    #: most work requests that wait or are under way
    commands: int = whole(2, 16, power_of_two=True, default=4)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("lsq_reserved", self.lsq_reserved, 2, self.lsq_entries - 2)
        if self.property_buffer_bytes < self.most_property_bytes:
            raise ValueError(
                f"property_buffer_bytes must hold a property of {self.most_property_bytes} bytes:"
                f" {self.property_buffer_bytes}"
            )

    @property
    def entry_bits(self) -> int:
        """Return the width of a pending entry's index."""
        return ceil_log2(self.pending_entries)

    @property
    def slot_bits(self) -> int:
        """Return the width of a slot's number; a request that waits or is under way has a slot."""
        return ceil_log2(self.commands)

    @property
    def generation_bits(self) -> int:
        """Return the width of the generation, which distinguishes PRs of different commands."""
        return ID_BITS - self.entry_bits

    @property
    def property_beats(self) -> int:
        """Return the number of beats of the property buffer."""
        return self.property_buffer_bytes // BEAT_BYTES

    @property
    def max_beats(self) -> int:
        """Return the most beats of a property."""
        return -(-self.most_property_bytes // BEAT_BYTES)

    @property
    def request(self) -> data.StructLayout:
        """Describe a work request as the host writes it (section 5.1)."""
        return data.StructLayout(self._request_fields(HOST_ADDRESS_BITS))

    @property
    def command(self) -> data.StructLayout:
        """Describe a work request that was checked: ``cause`` is DONE, or why it is not legal."""
        return data.StructLayout(self._request_fields(self.address_bits) | {"cause": Cause})

    def _request_fields(self, address_bits: int) -> dict[str, int]:
        return {
            "tag": TAG_BITS,
            "idx_address": address_bits,  # address of the array of idxs, aligned to its elements
            "count": COUNT_BITS,  # number of idxs
            "wide": 1,  # idxs have 8 bytes, else 4
            "property_address": address_bits,  # address of idx 0's property, a multiple of 4
            "property_bytes": LENGTH_BITS,  # bytes of a property, a multiple of 4
            "watchdog": WATCHDOG_BITS,  # cycles without progress that end it; 0: never
        }

    @property
    def property_array(self) -> data.StructLayout:
        """Describe where properties are written: the property of idx 0 would be at ``address``."""
        return data.StructLayout({"address": self.address_bits, "bytes": LENGTH_BITS})

    @property
    def idx_array(self) -> data.StructLayout:
        """Describe the array in host memory of the idxs of the command in ``slot``.

        It is aligned to the size of an idx.
        """
        return data.StructLayout(
            {
                "address": self.address_bits,
                "count": COUNT_BITS,
                "wide": 1,
                "slot": self.slot_bits,
            }
        )

    @property
    def fetched(self) -> data.StructLayout:
        """Describe an idx, the slot of its command, and whether it is that command's last."""
        return data.StructLayout({"idx": 64, "slot": self.slot_bits, "last": 1})

    @property
    def of_slot(self) -> data.StructLayout:
        """Describe an event of the command in ``slot``."""
        return data.StructLayout({"valid": 1, "slot": self.slot_bits})

    @property
    def partition(self) -> data.StructLayout:
        """Describe which idxs exist and which are local: ``first <= idx < end``, of ``columns``."""
        bound = self.idx_bits + 1
        return data.StructLayout({"node": 32, "first": bound, "end": bound, "columns": bound})

    @property
    def pending(self) -> data.StructLayout:
        """Describe an idx and its entry in the Pending PR Table."""
        return data.StructLayout({"idx": self.idx_bits, "entry": self.entry_bits})

    @property
    def owned(self) -> data.StructLayout:
        """Describe a pending idx and its owner; the tag is the entry."""
        return data.StructLayout(
            {"idx": self.idx_bits, "node": ceil_log2(self.nodes), "tag": self.entry_bits}
        )

    @property
    def served(self) -> data.StructLayout:
        """Describe the array that server units serve; unless ``legal`` they refuse all reads."""
        return data.StructLayout({"address": self.address_bits, "bytes": LENGTH_BITS, "legal": 1})

    @property
    def host_read(self) -> data.StructLayout:
        """Describe a read of consecutive bytes of host memory."""
        return data.StructLayout({"address": self.address_bits, "bytes": LENGTH_BITS})

    @property
    def host_write(self) -> data.StructLayout:
        """Describe a beat of a property for host memory; address and bytes are the property's."""
        return data.StructLayout(
            {
                "address": self.address_bits,
                "bytes": LENGTH_BITS,
                "last": 1,
                "data": 8 * BEAT_BYTES,
            }
        )


#: Describes a beat that was read, without gaps from the first byte on; ``failed`` is valid with
#: ``last``.
READ_BEAT = data.StructLayout({"last": 1, "failed": 1, "data": 8 * BEAT_BYTES})
