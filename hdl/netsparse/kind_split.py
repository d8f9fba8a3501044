"""Recognises NetSparse's packets, and splits those of one MAC by their kind."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data

from hdl.common.packet_split import PacketSplit
from hdl.common.packets import in_lanes
from hdl.netsparse.protocol import PACKET_CONSTANTS, PACKET_HEADER, Kind

READS, RESPONSES = 0, 1
KINDS = 2


@dataclass(frozen=True)
class PropertyPackets:
    """Recognises the packets of some kinds, to whatever node."""

    kinds: tuple[Kind, ...]

    def recognises(self, axis: Any, address: Value | None = None) -> Value:
        """Return whether a packet's first beat has our header, with one of the kinds."""
        header = data.View(PACKET_HEADER, in_lanes(axis.tdata))
        own = Cat(header.upper[name] == value for name, value in PACKET_CONSTANTS.items()).all()
        kind = header.concatenation.type
        return axis.tkeep.all() & own & Cat(kind == each.value for each in self.kinds).any()


CLASSES = (PropertyPackets((Kind.READ,)), PropertyPackets((Kind.RESPONSE, Kind.ERROR)))


class KindSplit(PacketSplit):
    """Sends packets of ``mac`` to ``o[READS]`` or, with errors, to ``o[RESPONSES]``.

    A packet is foreign if its first beat has no header of ours.
    """

    kinds = KINDS

    def kind_of(self, m: Module, beat: Any) -> Value:
        """Return whether the header is of a read, and whether it is of a response or an error."""
        return Cat(packets.recognises(beat) for packets in CLASSES)
