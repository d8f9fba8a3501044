"""Describes the sizes of SwitchGNN's endpoint, and the bundles that depend on them."""

from amaranth.lib import data
from amaranth.utils import bits_for, ceil_log2, exact_log2

from hdl.common.axi_read_port import AxiPortParams
from hdl.common.packets import BEAT_BYTES
from hdl.common.params import Params, same_as, whole
from hdl.switch.frame_format import FrameFormat
from hdl.switch.packet_port import PacketPortParams
from hdl.switchgnn.endpoint.bundles import BEAT_BITS, RATE_SETTINGS, SLOT_BITS, Verdict
from hdl.switchgnn.endpoint.memory_layouts import ALIGNMENT, WORD_BITS
from hdl.switchgnn.endpoint.presets import SETTINGS
from hdl.switchgnn.protocol import (
    ACK_BITS,
    FEATURE_BITS,
    SUM_BITS,
    Kind,
    frame_format,
    payload_bytes,
)


def port_beat(port: AxiPortParams) -> data.StructLayout:
    """Describe a beat from an :class:`hdl.common.axi_read_port.AxiReadPort`."""
    return data.StructLayout(
        {"valid": 1, "failed": 1, "last": 1, "tag": port.tag_bits, "data": port.data_bits}
    )


class EndpointParams(
    Params,
    suffix="{banks}x{depth}x{lanes}_w{window}_c{copies}_a{address_bits}_p{prefetch_beats}_i{ingress_beats}",
):
    """Sets the sizes of a worker's endpoint."""

    lanes: int = whole(2, 128, power_of_two=True, default=128)  #: L: features of a frame
    #: W: frames that may be sent ahead of the oldest one without ACK
    window: int = whole(2, ACK_BITS, default=128)
    banks: int = whole(1, 16, power_of_two=True, default=8)  #: banks of the switch
    #: aggregators that a turn has in each bank
    depth: int = whole(2, 32768, power_of_two=True, default=4096)
    #: most sources whose features are copied
    copies: int = whole(2, 65536, power_of_two=True, default=4096)
    address_bits: int = whole(16, 64, default=34)  #: width of a byte address in memory
    #: most beats of payloads in flight or waiting
    prefetch_beats: int = whole(16, 4096, power_of_two=True, default=256)
    #: most beats of received frames that can wait
    ingress_beats: int = same_as(PacketPortParams, "words", default=512)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.port  # raises ValueError for sizes that do not fit

    @property
    def frames(self) -> FrameFormat:
        """Describe the frames that the endpoint sends and receives."""
        return frame_format(self.lanes)

    @property
    def port(self) -> PacketPortParams:
        """Return the sizes of the port for received frames."""
        return PacketPortParams(frames=self.frames, words=self.ingress_beats)

    @property
    def aggregators(self) -> int:
        """Return the number of aggregators of a turn."""
        return self.banks * self.depth

    @property
    def sum_words(self) -> int:
        """Return the number of words of ``required`` for aggregators."""
        return -(-self.aggregators // WORD_BITS)

    @property
    def words(self) -> int:
        """Return the number of words of ``required``."""
        return self.sum_words - (-self.copies // WORD_BITS)

    @property
    def word_bits(self) -> int:
        """Return the width of a word's number."""
        return max(1, ceil_log2(self.words))

    @property
    def table_bits(self) -> int:
        """Return the width of a word's place in the table of all slots: word below slot."""
        return self.word_bits + SLOT_BITS

    @property
    def missing_bits(self) -> int:
        """Return the width of a number of sums and copies."""
        return bits_for(self.aggregators + self.copies)

    def payload_beats(self, bits: int) -> int:
        """Return the number of beats of a payload with lanes of so many bits."""
        kind = {FEATURE_BITS: Kind.FEATURE, SUM_BITS: Kind.PARTIAL}[bits]
        return payload_bytes(kind, self.lanes) // BEAT_BYTES

    @property
    def feature_beats(self) -> int:
        """Return the number of beats of a feature, a power of two."""
        return self.payload_beats(FEATURE_BITS)

    @property
    def sum_beats(self) -> int:
        """Return the number of beats of a sum, a power of two."""
        return self.payload_beats(SUM_BITS)

    @property
    def beat_address_bits(self) -> int:
        """Return the width of a beat's number in memory."""
        return self.address_bits - exact_log2(BEAT_BYTES)

    @property
    def base_bits(self) -> int:
        """Return the width of an aligned address, without the bits that are zero."""
        return self.address_bits - exact_log2(ALIGNMENT)

    @property
    def context(self) -> data.StructLayout:
        """Describe a turn's stored record; addresses lack the bits that are always zero."""
        names = ("list", "features", "sums", "copies", "sources")
        return data.StructLayout(dict.fromkeys(names, self.base_bits) | {"sends": 32})

    @property
    def job(self) -> data.StructLayout:
        """Describe a frame to be sent: the fields of its head, and the address of its payload."""
        return data.StructLayout(
            {
                "kind": Kind,
                "again": 1,
                "turn": 32,
                "seq": 32,
                "list": 32,
                "source": 32,
                "raw": 32,
                "rows": 16,
                "beat": self.beat_address_bits,
            }
        )

    @property
    def head(self) -> data.StructLayout:
        """Describe the fields of a job that go into its frame's head."""
        return data.StructLayout({name: field.shape for name, field in self.job if name != "beat"})

    @property
    def arrival(self) -> data.StructLayout:
        """Describe a beat of a frame that was checked; all but the first two fields are of heads.

        ``malformed`` is valid with the last beat, and is about the whole frame.
        """
        return data.StructLayout(
            {
                "first": 1,
                "last": 1,
                "malformed": 1,
                "stranger": Verdict,  # NONE for a frame of this run of the job, for this worker
                "is_lo": 1,  # its turn was the oldest open one
                "is_next": 1,  # or the one after it
                "is_sending": 1,  # or the one that is being sent
                "in_sums": 1,  # its list is the number of an aggregator of a turn
                "in_copies": 1,  # its source is the number of a source of a turn
                "data": BEAT_BITS,
            }
        )

    @property
    def write(self) -> data.StructLayout:
        """Describe a beat to be written, and the slot that it belongs to."""
        return data.StructLayout(
            {
                "beat": self.beat_address_bits,
                "data": BEAT_BITS,
                "strobes": BEAT_BYTES,
                "slot": SLOT_BITS,
            }
        )

    @property
    def settings(self) -> data.StructLayout:
        """Describe the host's settings; all but ``ready_turns`` must be stable while a job runs."""
        return data.StructLayout(
            {
                "address": 48,  # own address, the source of frames sent; first byte lowest
                "switch_address": 48,
                "worker": 32,  # bit of the worker's port at the switch
                "job": 16,
                "epoch": 16,
                "turns": 32,
                "ready_turns": 32,  # turns whose features are in memory
                "two_open": 1,  # two turns are open at a time; otherwise one
                "program": self.beat_address_bits,
                "send_timeout": 32,
                "fetch_timeout": 32,
                "fetch_gap": 16,
                "done_timeout": 32,
                "rate": RATE_SETTINGS,
            }
        )

    @property
    def table_port(self) -> AxiPortParams:
        """Return the sizes of the port that reads tables; the tag is the client."""
        return AxiPortParams(
            address_bits=self.address_bits, data_bits=BEAT_BITS, tag_bits=2, outstanding=256
        )

    @property
    def table_port_beat(self) -> data.StructLayout:
        """Describe a beat from the port of tables."""
        return port_beat(self.table_port)

    @property
    def payload_port_beat(self) -> data.StructLayout:
        """Describe a beat from the port of payloads."""
        return port_beat(self.payload_port)

    @property
    def payload_port(self) -> AxiPortParams:
        """Return the sizes of the port that reads payloads."""
        return AxiPortParams(
            address_bits=self.address_bits,
            data_bits=BEAT_BITS,
            length_bits=max(1, ceil_log2(self.sum_beats)),
            outstanding=min(self.prefetch_beats, 256),
        )

    @property
    def write_port(self) -> AxiPortParams:
        """Return the sizes of the port that writes sums; the tag is the slot."""
        return AxiPortParams(
            address_bits=self.address_bits, data_bits=BEAT_BITS, tag_bits=SLOT_BITS, outstanding=256
        )


#: Holds the sizes of each preset.
PRESETS = {name: EndpointParams(**changes) for name, changes in SETTINGS.items()}
