"""Finds the part of a switch that a packet is for, by the packet's first beat."""

from typing import Any, Protocol

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib.wiring import In

from hdl.common.packet_split import PacketSplit, PacketSplitParams


class Recogniser(Protocol):
    """Knows the packets of a protocol, such as :class:`hdl.switch.frame_format.FrameFormat`."""

    def recognises(self, axis: Any, address: Value) -> Value:
        """Return whether a packet's first beat is of this protocol, at the switch's ``address``."""
        ...


class ClassifierParams(PacketSplitParams, suffix="{count}"):
    """Names the protocols of each stream; no packet is of two streams."""

    streams: tuple[tuple[Recogniser, ...], ...]

    @property
    def count(self) -> int:
        """Return the number of streams."""
        return len(self.streams)


class Classifier(PacketSplit):
    """Sends a packet of ``mac`` to the stream ``o[k]`` whose protocols recognise it.

    All others go to the last ``o``, but for those to the switch's own ``address``: these are
    foreign. Packets that are too short to be recognised go to the last ``o``, too, and so do all
    that begin while ``closed``.
    """

    params: ClassifierParams

    def __init__(self, params: ClassifierParams) -> None:
        self.kinds = params.count + 1
        super().__init__(params, address=In(48), closed=In(1))

    def kind_of(self, m: Module, beat: Any) -> Value:
        """Return a bit for each stream, and one for packets to others."""
        known = Cat(
            Cat(protocol.recognises(beat, self.address) for protocol in protocols).any()
            for protocols in self.params.streams
        )
        own = beat.tkeep[5] & (beat.tdata[:48] == self.address)
        streams = Mux(self.closed, 0, known)
        return Cat(streams, self.closed | ~(known.any() | own))
