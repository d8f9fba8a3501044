"""Where frames of one port come in: judged, queued as a whole, and put together."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.switch.frame_filter import Quality
from hdl.switch.packet_port import PacketPort
from hdl.switchgnn.switch.frame_assembler import FrameAssembler
from hdl.switchgnn.switch.params import GnnSwitchParams

BAD_FRAMES = FifoParams(width=2, depth=16)


class GnnIngressPort(Component):
    """Every frame of ``axis`` becomes one of ``arrivals``, broken ones as well, without a payload.

    ``address`` is the switch's own, ``bit`` the one that the worker behind this port must send;
    ``used`` is how many beats wait. Throughput: a beat a cycle; ``axis.tready`` is always high,
    as a MAC cannot wait. Latency: :attr:`latency` from a frame's last beat to its arrival, if it
    has two beats and nothing waits. Full: the frame is lost and ``overflow`` is high for a cycle;
    so are broken ones of which 16 wait to be counted.
    """

    latency = PacketPort.latency + 1

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            {
                "axis": In(params.frames.axis),
                "address": In(48),
                "bit": In(32),
                "arrivals": Out(stream.Signature(params.arrival)),
                "used": Out(bits_for(params.ingress_depth)),
                "overflow": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.port = port = PacketPort(self.params.port_params)
        m.submodules.assembler = assembler = FrameAssembler(self.params)
        m.submodules.broken = broken = Fifo(BAD_FRAMES)
        connect(m, flipped(self.axis), port.axis)
        connect(m, port.packets, assembler.beats)
        bad = port.judged & (port.quality != Quality.GOOD)
        frames, arrival = assembler.frames, self.arrivals.payload
        m.d.comb += [
            port.address.eq(self.address),
            assembler.bit.eq(self.bit),
            broken.i.valid.eq(bad),
            broken.i.payload.eq(port.quality),
            self.overflow.eq(port.lost | (bad & ~broken.i.ready)),
            self.used.eq(port.used),
            arrival.eq(frames.payload),
            self.arrivals.valid.eq(frames.valid | broken.o.valid),
            # Whole frames come first: more broken ones can wait.
            frames.ready.eq(self.arrivals.ready),
            broken.o.ready.eq(self.arrivals.ready & ~frames.valid),
        ]
        with m.If(~frames.valid):
            m.d.comb += [
                arrival.packet.quality.eq(Quality(broken.o.payload)),
                arrival.brings.eq(0),
            ]
        return m
