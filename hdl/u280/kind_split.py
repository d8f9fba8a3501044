"""Splits NetSparse's packets of one MAC by their kind."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import data

from hdl.common.packet_split import PacketSplit
from hdl.common.packets import in_lanes
from hdl.netsparse.protocol import PACKET_CONSTANTS, PACKET_HEADER, Kind

READS, RESPONSES = 0, 1
KINDS = 2


class KindSplit(PacketSplit):
    """Sends packets of ``mac`` to ``o[READS]`` or, with errors, to ``o[RESPONSES]``.

    A packet is foreign if its first beat has no header of ours.
    """

    kinds = KINDS

    def kind_of(self, m: Module, beat: Any) -> Value:
        """Return whether the header is of a read, and whether it is of a response or an error."""
        header = data.View(PACKET_HEADER, in_lanes(beat.tdata))
        own = (
            beat.tkeep.all()
            & Cat(header.upper[name] == value for name, value in PACKET_CONSTANTS.items()).all()
        )
        kind = header.concatenation.type
        responses = (kind == Kind.RESPONSE.value) | (kind == Kind.ERROR.value)
        return Mux(own, Cat(kind == Kind.READ.value, responses), 0)
