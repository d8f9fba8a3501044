"""Joins a stream of packets that must not be lost to an engine that may make them wait."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packet_entry import PacketEntry, PacketEntryParams
from hdl.common.packet_exit import PacketExit
from hdl.common.packets import AXIS, BEAT
from hdl.common.params import Params, same_as, whole

UNSEEN = 3  #: beats that come between one that is too many and the pause


class LosslessPortParams(Params, suffix="{beats}_h{headroom}"):
    """Sets the size of a port's buffer, and the room that a pause needs."""

    beats: int = same_as(PacketEntryParams, "beats", default=4096)  #: beats that can wait
    #: beats that may come after a pause was requested
    headroom: int = whole(1, 1 << 16, default=1400)
    #: kind of memory from which Vivado builds the buffer
    style: str = same_as(PacketEntryParams, "style", default="block", tag="_{}")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stop_above < 1:
            least = self.beats - self.stop_above + 1
            raise ValueError(f"beats must be at least {least} for the headroom: {self.beats}")

    @property
    def stop_above(self) -> int:
        """Return the number of waiting beats above which the neighbour is paused."""
        return self.entry.buffer.max_packet_words - self.headroom - UNSEEN

    @property
    def resume_at(self) -> int:
        """Return the number of waiting beats at which it may go on: half, so that it is in time."""
        return self.stop_above // 2

    @property
    def entry(self) -> PacketEntryParams:
        """Return the sizes of the buffer of packets that come."""
        return PacketEntryParams(beats=self.beats, marked=True, style=self.style)


class LosslessPort(Component):
    """Stores packets of ``i`` for an engine (``come``), and those that it sends (``go``) for ``o``.

    ``i.tready`` is always high. ``pause`` is high from the time that more than
    ``params.stop_above`` beats wait to the time that ``params.resume_at`` do: if at most
    ``params.headroom`` beats come after it has risen, no packet is lost. A packet that finds no
    room, or that ``tuser`` marks as corrupt, is dropped whole; ``dropped`` is high for a cycle. A
    packet of the engine leaves when it is whole, and not if ``tuser`` marks it, as the engine does
    with those that its reset cuts.

    Throughput: a beat a cycle each way. Latency: ``come`` :attr:`latency` cycles from a packet's
    last beat to its first, ``o`` that of :class:`PacketExit`.
    """

    latency = PacketEntry.latency

    def __init__(self, params: LosslessPortParams) -> None:
        super().__init__(
            params,
            i=In(AXIS),
            come=Out(AXIS),
            go=In(AXIS),
            o=Out(stream.Signature(BEAT)),
            pause=Out(1),
            dropped=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.entry = entry = PacketEntry(self.params.entry)
        m.submodules.exit = out = PacketExit.sized()
        connect(m, flipped(self.i), entry.i)
        connect(m, entry.o, flipped(self.come))
        connect(m, flipped(self.go), out.i)
        connect(m, out.o, flipped(self.o))
        m.d.comb += self.dropped.eq(entry.dropped)
        with m.If(entry.used > self.params.stop_above):
            m.d.sync += self.pause.eq(1)
        with m.Elif(entry.used <= self.params.resume_at):
            m.d.sync += self.pause.eq(0)
