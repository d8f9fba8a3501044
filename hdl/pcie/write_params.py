"""Sets the sizes of a requester of writes, and the bundles between its parts."""

from amaranth.lib import data
from amaranth.utils import bits_for, ceil_log2

from hdl.common.params import Params, choice, whole
from hdl.pcie.axis import DATA_BITS
from hdl.pcie.descriptors import DWORD_BITS, REQUEST_DWORDS
from hdl.pcie.packet_gate import PacketGateParams
from hdl.pcie.request_cutter import CutterParams
from hdl.pcie.write_fence import WriteFenceParams

PAYLOADS = (128, 256, 512, 1024)  #: bytes of the largest payload that the block allows


class WriteRequesterParams(Params, suffix="{data_bits}_{max_payload}_u{user_bits}"):
    """Sets how large writes are."""

    #: width of the block's interfaces and of a beat
    data_bits: int = choice(*DATA_BITS, default=512)
    max_payload: int = choice(*PAYLOADS, default=512)  #: bytes of the largest payload
    #: width of the user's bits, given back when a request was sent
    user_bits: int = whole(1, 32, default=8)

    @property
    def lanes(self) -> int:
        """Return the dwords of a beat."""
        return self.data_bits // DWORD_BITS

    @property
    def beat_bytes(self) -> int:
        """Return the bytes of a beat."""
        return self.data_bits // 8

    @property
    def byte_bits(self) -> int:
        """Return the width of a byte's place in a beat."""
        return ceil_log2(self.beat_bytes)

    @property
    def cutter(self) -> CutterParams:
        """Return the sizes of the part that cuts requests."""
        return CutterParams(most=self.max_payload, user_bits=self.user_bits)

    @property
    def gate(self) -> PacketGateParams:
        """Return the sizes of the FIFO that holds each packet until it is whole."""
        beats = -(-(self.max_payload // 4 + REQUEST_DWORDS) // self.lanes)
        return PacketGateParams(shape=self.beat, packet_beats=beats, last_bit=0)

    @property
    def fence(self) -> WriteFenceParams:
        """Return the sizes of the part that follows writes through the block."""
        return WriteFenceParams(user_bits=self.user_bits)

    @property
    def sent(self) -> data.StructLayout:
        """Describe the report that a request was sent, with its user's bits."""
        return data.StructLayout({"valid": 1, "user": self.user_bits})

    @property
    def head(self) -> data.StructLayout:
        """Describe the fields of a packet's descriptor; ``address`` counts dwords."""
        return data.StructLayout(
            {
                "address": 62,
                "dwords": bits_for(self.max_payload // 4),
                "first_enable": 4,
                "last_enable": 4,
            }
        )

    @property
    def plan(self) -> data.StructLayout:
        """Describe what a beat of a packet is made of.

        ``takes``: it needs the next beat of data, besides what is left of the one before. Byte b of
        a beat of data goes to byte (``turn`` + b) modulo the beat's size, in this beat of the
        packet or in the next.
        """
        return data.StructLayout(
            {
                "begins": 1,
                "ends": 1,
                "takes": 1,
                "turn": self.byte_bits,
                "end_dword": ceil_log2(self.lanes),
                "head": self.head,
                "final": 1,
                "user": self.user_bits,
            }
        )

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat of a packet with its descriptor; ``final``: it is its request's last."""
        return data.StructLayout(
            {
                "ends": 1,
                "begins": 1,
                "final": 1,
                "end_dword": ceil_log2(self.lanes),
                "first_enable": 4,
                "last_enable": 4,
                "user": self.user_bits,
                "data": self.data_bits,
            }
        )
