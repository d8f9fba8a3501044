"""Holds each packet back until all of it is there, so that it leaves without a gap."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import connect, flipped

from hdl.common.checks import check_range
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.params import whole
from hdl.common.shaped import ShapedParams
from hdl.common.streams import stream_ports


class PacketGateParams(ShapedParams, suffix="{width}_of_{packet_beats}_last_{last_bit}"):
    """Sets a beat's shape, the size of packets, and which bit of a beat ends one."""

    packet_beats: int = whole(1, 33)  #: beats of the longest packet
    last_bit: int  #: number of the bit of a beat that marks a packet's last beat

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("last_bit", self.last_bit, 0, self.width - 1)

    @property
    def fifo(self) -> FifoParams:
        """Return the FIFO, in LUTs: a packet of the longest leaves while the next one comes."""
        return FifoParams(shape=self.width, depth=32 if self.packet_beats <= 16 else 64)


class PacketGate(Component):
    """Passes packets from ``i`` to ``o`` in order; the beats of one leave in consecutive cycles.

    A packet begins to leave when its last beat has come; from then on only ``o.ready`` makes it
    wait. AMD's block nullifies a request if ``tvalid`` goes low in its middle (PG213, "Requester
    Memory Write Operation").

    Throughput: a beat a cycle. Latency: :attr:`latency` from a packet's last beat to its first one
    at ``o``. Full: ``i`` waits; a packet of at most ``params.packet_beats`` always has room.
    """

    latency = 1

    def __init__(self, params: PacketGateParams) -> None:
        super().__init__(params, stream_ports(params.shape, params.shape))

    def build(self, m: Module) -> None:
        fifo, last = self.params.fifo, self.params.last_bit
        m.submodules.beats = beats = Fifo(fifo)
        connect(m, flipped(self.i), beats.i)
        whole = Signal(range(fifo.depth + 1))  # packets whose last beat is inside
        ready = Signal()  # ``whole`` is not 0
        comes = beats.i.valid & beats.i.ready & beats.i.payload[last]
        leaves = self.o.valid & self.o.ready & beats.o.payload[last]
        m.d.comb += [
            self.o.payload.eq(beats.o.payload),
            self.o.valid.eq(beats.o.valid & ready),
            beats.o.ready.eq(self.o.ready & ready),
        ]
        with m.If(comes & ~leaves):
            m.d.sync += [whole.eq(whole + 1), ready.eq(1)]
        with m.If(leaves & ~comes):
            m.d.sync += [whole.eq(whole - 1), ready.eq(whole != 1)]
