"""Splits packets by their EtherType."""

from typing import Any

from amaranth.hdl import Module, Value

from hdl.common.packet_split import PacketSplit, PacketSplitParams
from hdl.common.params import whole

TYPE_AT = 12  #: byte of a frame at which its EtherType begins, the high byte first
OWN = 0  #: output of packets with the EtherType


class EtherSplitParams(PacketSplitParams, suffix="{ethertype:04x}_"):
    """Sets the EtherType, and says where other packets go."""

    ethertype: int = whole(0x600, 0xFFFF)  #: as IEEE 802 writes it


class EtherSplit(PacketSplit):
    """Sends packets of ``mac`` with ``params.ethertype`` to ``o[OWN]``.

    All others are foreign, and so are those that end before their EtherType does.
    """

    def __init__(self, params: EtherSplitParams) -> None:
        super().__init__(params)

    def kind_of(self, m: Module, beat: Any) -> Value:
        """Return whether the first beat has the EtherType."""
        wire = int.from_bytes(self.params.ethertype.to_bytes(2, "big"), "little")
        return beat.tkeep[TYPE_AT + 1] & (beat.tdata.word_select(TYPE_AT // 2, 16) == wire)
