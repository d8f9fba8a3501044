"""Sets the sizes of a gather engine, and the bundles between its parts."""

from dataclasses import replace

from amaranth.lib import data, enum
from amaranth.utils import bits_for, ceil_log2, exact_log2

from hdl.common.axi import AxiStreamSignature, BusSignature
from hdl.common.axi_read_port import AxiPortParams, full_bus
from hdl.common.params import Params, choice, same_as, whole
from hdl.gather.params import SHARE, GatherParams
from hdl.pcie.descriptors import Cause
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.read_share import ReadShareParams
from hdl.pcie.requester import RequesterParams
from hdl.pcie.write_params import WriteRequesterParams

TAG_BITS, COUNT_BITS = 16, 32  #: widths of the host's tag of a request, and of a number of idxs
READS = ROWS, IDXS, DESCRIPTORS = range(3)  #: users of the requester; descriptors of a ring
CHUNK = 512  #: most bytes of idxs in a read
BURST_BEATS = 8  #: beats of the largest burst to device memory: HBM's 512 bytes, at 512 bits
OUTSTANDING = 64  #: most bursts under way in device memory
REGISTER_ADDRESS_BITS = 12
HOST_BUSES = ("pcie", "axi")
#: where rows of a build can go, by the names of its outputs
OUTPUTS = {
    "axi": {"memory"},
    "stream": {"stream"},
    "both": {"memory", "stream"},
    "host": {"host"},
    "all": {"memory", "stream", "host"},
}


class Outcome(enum.Enum, shape=4):
    """Names how a work request ends; if several apply, the first one in this list is given."""

    DONE = 0  #: everything was written
    ILLEGAL = 1  #: a field breaks a rule of the guide; nothing was read or written
    STOPPED = 5  #: the host has stopped it; some of the first bytes of its rows were written
    #: device memory refused some of it or did not answer, or the stream's consumer took nothing
    WRITE = 2
    IDXS = 3  #: some idxs could not be read; their rows are zero and counted in `beyond`
    ROWS = 4  #: some rows could not be read; each is zero from the first read on that failed


#: Describes a work request: which rows of which table go where. What each field does stands with
#: the register of its name (:mod:`hdl.gather.registers`); ``malformed``: bits without a meaning are
#: set.
WORK = data.StructLayout(
    {
        "tag": TAG_BITS,
        "wide": 1,
        "on_card": 1,
        "streamed": 1,
        "posted": 1,
        "order": 2,
        "coalesce": 1,
        "idx_address": 64,
        "count": COUNT_BITS,
        "base": 64,
        "rows": 32,
        "row_bytes": 17,
        "stride": 17,
        "destination": 64,
        "completion": 64,
        "malformed": 1,
    }
)

#: Lays out a work request in a ring in host memory, little-endian, in 64 bytes, with the fields of
#: :data:`WORK`. What is above their bits there, and what is reserved, must be zero.
DESCRIPTOR = data.StructLayout(
    {
        "idx_address": 64,
        "base": 64,
        "destination": 64,
        "completion": 64,
        "count": COUNT_BITS,
        "rows": 32,
        "stride": 32,
        "row_bytes": 32,
        "tag": TAG_BITS,
        "order": 8,
        "wide": 8,
        "on_card": 8,
        "streamed": 8,
        "coalesce": 8,
        "posted": 8,
        "reserved": 64,
    }
)

#: Lays out the completion of a work request in host memory: 16 bytes, little-endian.
COMPLETION = data.StructLayout(
    {
        "tag": TAG_BITS,
        "outcome": Outcome,
        "cause": Cause,  # cause of the first read that failed
        "reserved": 8,
        "beyond": COUNT_BITS,  # rows that are zero: their idx is not in the table, or unreadable
        "failed": COUNT_BITS,  # rows that could not be read completely
        "zero": 31,
        "done": 1,  # set when the request has ended; the host clears it before it submits
    }
)
COMPLETION_BYTES = COMPLETION.size // 8


class GatherEngineParams(Params):
    """Sets the sizes of a gather engine."""

    #: width of the block's interfaces and of device memory
    data_bits: int = same_as(ReadRequesterParams, "data_bits", default=512)
    tags: int = same_as(ReadRequesterParams, "tags", default=256)  #: most reads under way
    #: bytes of the largest read
    max_read: int = same_as(ReadRequesterParams, "max_read", default=512)
    idx_bits: int = same_as(GatherParams, "idx_bits", default=32)  #: width of an idx
    #: width of the stride in bytes
    stride_bits: int = same_as(GatherParams, "stride_bits", default=17)
    address_bits: int = whole(16, 64, default=33)  #: width of a byte address in device memory
    #: chunks of 512 bytes of idxs that are read ahead
    idx_chunks: int = whole(2, 32, power_of_two=True, default=8)
    requests: int = whole(2, 64, default=8)  #: places for work requests that wait in the queue
    #: where rows can go: to device memory over AXI, to a stream, to both, by posted writes to bus
    #: addresses (host memory, or the BAR of a peer: another card, a GPU), or to all of these
    outputs: str = choice(*OUTPUTS, default="axi")
    #: parts of rows kept for equal idxs; 0: none
    kept_parts: int = same_as(GatherParams, "kept_parts", default=0)
    card_idxs: bool = False  #: whether idxs can be in device memory, too
    #: descriptors of a request ring read ahead; 0: there is no ring
    descriptors: int = whole(2, 15, or_zero=True, default=0)
    #: path to the host: the streams of the PCIe block, or AXI to registers and host memory
    host_bus: str = choice(*HOST_BUSES, default="pcie")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kept_parts and not self.over_pcie:
            raise ValueError(
                "kept_parts must be 0 with host_bus axi, where rows have more parts:"
                f" {self.kept_parts}"
            )
        if self.to_host and not self.over_pcie:
            raise ValueError(
                "outputs must be axi, stream or both with host_bus axi, which has no posted writes:"
                f" {self.outputs}"
            )

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: all sizes."""
        return (
            f"{self.data_bits}_{self.tags}x{self.max_read}_i{self.idx_bits}_s{self.stride_bits}"
            f"_a{self.address_bits}_c{self.idx_chunks}_r{self.requests}"
            f"{'' if self.outputs == 'axi' else f'_{self.outputs}'}{'_card' * self.card_idxs}"
            f"{f'_k{self.kept_parts}' if self.kept_parts else ''}"
            f"{f'_d{self.descriptors}' if self.descriptors else ''}"
            f"{'' if self.over_pcie else '_axi'}"
        )

    @property
    def over_pcie(self) -> bool:
        """Return whether the host is reached through the streams of a block for PCI Express."""
        return self.host_bus == "pcie"

    @property
    def host_tag(self) -> data.StructLayout:
        """Describe what comes back with a burst: lanes of its ends, its request's end and user."""
        lane, user = self.reads.lane_bits, self.share.shared.user_bits
        return data.StructLayout({"first": lane, "end": lane, "last": 1, "user": user})

    @property
    def host_writes(self) -> AxiPortParams:
        """Return the sizes of the port that writes completions to host memory."""
        return AxiPortParams(address_bits=64, data_bits=self.data_bits, outstanding=2)

    @property
    def host_reads(self) -> AxiPortParams:
        """Return the sizes of the port that reads host memory."""
        return replace(
            self.host_writes,
            length_bits=exact_log2(self.max_read // self.beat_bytes),
            tag_bits=self.host_tag.size,
            outstanding=self.tags,
        )

    @property
    def beat_bytes(self) -> int:
        """Return the bytes of a beat of device memory."""
        return self.data_bits // 8

    @property
    def reads(self) -> ReadRequesterParams:
        """Return the sizes of the requester as each of its users sees it."""
        return ReadRequesterParams(
            data_bits=self.data_bits, tags=self.tags, max_read=self.max_read, user_bits=SHARE.size
        )

    @property
    def gather(self) -> GatherParams:
        """Return the sizes of the datapath of rows."""
        return GatherParams(
            idx_bits=self.idx_bits,
            stride_bits=self.stride_bits,
            kept_parts=self.kept_parts,
            reads=self.reads,
        )

    @property
    def share(self) -> ReadShareParams:
        """Return the sizes of the arbiter through which all users share the requester."""
        users = len(READS) if self.descriptors else len(READS) - 1
        return ReadShareParams(user=self.reads, users=users)

    @property
    def requester(self) -> RequesterParams:
        """Return the sizes of the requester."""
        return RequesterParams(
            reads=self.share.shared,
            writes=WriteRequesterParams(
                data_bits=self.data_bits, max_payload=512 if self.to_host else 128, user_bits=1
            ),
        )

    @property
    def port(self) -> AxiPortParams:
        """Return the sizes of the port to device memory."""
        return AxiPortParams(
            address_bits=self.address_bits,
            data_bits=self.data_bits,
            length_bits=exact_log2(BURST_BEATS),
            outstanding=OUTSTANDING,
        )

    @property
    def read_port(self) -> AxiPortParams:
        """Return the sizes of the port by which idxs come from device memory."""
        return replace(
            self.port,
            length_bits=exact_log2(self.chunk_beats),
            tag_bits=self.reads.lane_bits,
            outstanding=self.idx_chunks,
        )

    @property
    def to_memory(self) -> bool:
        """Return whether rows can go to device memory."""
        return "memory" in OUTPUTS[self.outputs]

    @property
    def to_stream(self) -> bool:
        """Return whether rows can go to a consumer on the card."""
        return "stream" in OUTPUTS[self.outputs]

    @property
    def to_host(self) -> bool:
        """Return whether rows can go to bus addresses, those of host memory or of a peer."""
        return "host" in OUTPUTS[self.outputs]

    @property
    def size_bits(self) -> int:
        """Return the width of the number of bytes of all rows of a work request."""
        return WORK["count"].width + WORK["row_bytes"].width

    @property
    def device_port(self) -> str:
        """Return the name of the port to device memory, which may be one of two managers."""
        return "m_axi" if self.over_pcie else "m_axi_device"

    @property
    def ends(self) -> dict[str, BusSignature]:
        """Return the ports that lead to the card: device memory, a consumer of rows."""
        ends: dict[str, BusSignature] = {}
        if self.to_memory and self.card_idxs:
            ends[self.device_port] = full_bus(self.read_port, self.port)
        elif self.to_memory:
            ends[self.device_port] = self.port.write_bus
        elif self.card_idxs:
            ends[self.device_port] = self.read_port.read_bus
        if self.to_stream:
            ends["m_axis"] = self.axis
        return ends

    @property
    def axis(self) -> AxiStreamSignature:
        """Return the stream to a consumer on the card."""
        return AxiStreamSignature(data_bits=self.data_bits)

    @property
    def beat_bits(self) -> int:
        """Return the width of a byte's place in a beat."""
        return ceil_log2(self.beat_bytes)

    @property
    def chunk_beats(self) -> int:
        """Return the most beats of a chunk of idxs, which reads of 128 bytes may cut."""
        return CHUNK // self.beat_bytes

    @property
    def idx_beat(self) -> data.StructLayout:
        """Describe a beat of idxs in the queue."""
        return data.StructLayout(
            {"data": self.data_bits, "dwords": bits_for(self.reads.lanes), "last": 1, "failed": 1}
        )

    @property
    def idx_array(self) -> data.StructLayout:
        """Describe an array of idxs; ``wide``: of 8 bytes each, else of 4; ``on_card``: in device
        memory, else in the host's.
        """
        return data.StructLayout({"address": 64, "count": COUNT_BITS, "wide": 1, "on_card": 1})
