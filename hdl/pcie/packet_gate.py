"""Lets packets go that are there as a whole, so that there is no gap within one."""

from dataclasses import dataclass

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams


@dataclass(frozen=True, kw_only=True)
class PacketGateParams:
    """Sets the size of packets, and which bit of a beat ends one."""

    width: int  #: bits of a beat
    packet_beats: int  #: beats of the longest packet, 1..33
    last_bit: int  #: bit of a beat: it ends a packet

    def __post_init__(self) -> None:
        if not 0 <= self.last_bit < self.width:
            raise ValueError(f"last_bit must be from 0 to {self.width - 1}: {self.last_bit}")
        if not 1 <= self.packet_beats <= 33:
            raise ValueError(f"packet_beats must be from 1 to 33: {self.packet_beats}")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: all sizes."""
        return f"{self.width}_of_{self.packet_beats}_last_{self.last_bit}"

    @property
    def fifo(self) -> FifoParams:
        """Return the size of the queue, in LUTs: a packet of the longest leaves, the next comes."""
        return FifoParams(width=self.width, depth=32 if self.packet_beats <= 16 else 64)


class PacketGate(Component):
    """The beats of ``i`` leave ``o`` in their order, and those of a packet in cycles in a row.

    A packet begins to leave when its last beat has come; only ``o.ready`` makes it wait then.
    AMD's block nullifies a request in whose middle ``tvalid`` goes low (PG213, "Requester Memory
    Write Operation").

    Throughput: a beat a cycle. Latency: :attr:`latency` from a packet's last beat to its first one
    at ``o``. Full: ``i`` waits; a packet of at most ``params.packet_beats`` always has room.
    """

    latency = 1

    def __init__(self, params: PacketGateParams) -> None:
        super().__init__(
            params,
            {
                "i": In(stream.Signature(params.width)),
                "o": Out(stream.Signature(params.width)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        fifo, last = self.params.fifo, self.params.last_bit
        m.submodules.beats = beats = Fifo(fifo)
        whole = Signal(range(fifo.depth + 1))  # packets whose last beat is inside
        ready = Signal()  # there are any
        comes = beats.i.valid & beats.i.ready & beats.i.payload[last]
        leaves = self.o.valid & self.o.ready & self.o.payload[last]
        m.d.comb += [
            beats.i.payload.eq(self.i.payload),
            beats.i.valid.eq(self.i.valid),
            self.i.ready.eq(beats.i.ready),
            self.o.payload.eq(beats.o.payload),
            self.o.valid.eq(beats.o.valid & ready),
            beats.o.ready.eq(self.o.ready & ready),
        ]
        with m.If(comes & ~leaves):
            m.d.sync += [whole.eq(whole + 1), ready.eq(1)]
        with m.If(leaves & ~comes):
            m.d.sync += [whole.eq(whole - 1), ready.eq(whole != 1)]
        return m
