"""Receives the frames of one port: checks them, queues whole ones, and assembles them."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.streams import StreamRegister
from hdl.switch.frame_filter import Quality
from hdl.switch.packet_port import PacketPort
from hdl.switchgnn.switch.ingress.frame_assembler import FrameAssembler
from hdl.switchgnn.switch.params import GnnSwitchParams

BAD_FRAMES = FifoParams(shape=2, depth=16)


class GnnIngressPort(Component):
    """Turns every frame of ``axis`` into one of ``arrivals``; broken ones have no payload.

    ``address`` is the switch's own, and ``port_bit`` the bit that the worker at this port must
    send; ``used`` is the number of beats that wait. Throughput: a beat a cycle; ``axis.tready`` is
    always high, as a MAC cannot wait. Latency: :attr:`latency` from a frame's last beat to its
    arrival, if nothing waits: all other beats are read before the frame is judged. Full: the frame
    is lost, and ``overflow`` pulses; so is a broken frame while 18 broken ones wait to be counted.
    """

    latency = PacketPort.latency

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            axis=In(params.frames.axis),
            address=In(48),
            port_bit=In(32),
            arrivals=Out(stream.Signature(params.arrival)),
            used=Out(bits_for(params.ingress_depth)),
            overflow=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.port = port = PacketPort(self.params.port_params)
        m.submodules.assembler = assembler = FrameAssembler(self.params)
        m.submodules.queue = queue = Fifo(BAD_FRAMES)
        m.submodules.broken = broken = StreamRegister.sized(shape=BAD_FRAMES.width)
        connect(m, flipped(self.axis), port.axis)
        connect(m, queue.o, broken.i)
        bad = port.judged & (port.quality != Quality.GOOD)
        word = port.packets.payload
        frames, arrival = assembler.frames, self.arrivals.payload
        offered = Signal()  # a broken frame is offered, and must not be withdrawn
        is_broken = Signal()
        m.d.comb += [
            assembler.beats.payload.eq(word),
            assembler.beats.valid.eq(port.packets.valid),
            port.address.eq(self.address),
            assembler.port_bit.eq(self.port_bit),
            assembler.undone.eq(port.undone),
            queue.i.valid.eq(bad),
            queue.i.payload.eq(port.quality),
            self.overflow.eq(port.lost | (bad & ~queue.i.ready)),
            self.used.eq(port.used),
            arrival.eq(frames.payload),
            # The grant among all ports is known late, and beats wait for it, so the assembler's
            # decision is repeated here with fewer logic levels.
            self.arrivals.valid.eq((port.packets.valid & word.last) | broken.o.valid),
            port.packets.ready.eq((self.arrivals.ready & ~offered) | ~word.last),
            # Whole frames have priority, because more broken ones can wait.
            is_broken.eq(offered | ~frames.valid),
            frames.ready.eq(self.arrivals.ready & ~is_broken),
            broken.o.ready.eq(self.arrivals.ready & is_broken),
        ]
        m.d.sync += offered.eq(broken.o.valid & is_broken & ~self.arrivals.ready)
        with m.If(is_broken):
            m.d.comb += [
                arrival.packet.quality.eq(Quality(broken.o.payload)),
                arrival.brings.eq(0),
            ]
