"""Receives the frames of one port, checks them, and queues them until their turn."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.switch.frame_filter import FrameFilter, Quality
from hdl.switch.frame_format import copied
from hdl.switch.params import PacketSwitchParams
from hdl.switch.tenancy_head import TENANCY_FRAMES, TenancyHead, is_command


class IngressPort(Component):
    """Turns every frame of ``axis``, broken ones included, into an entry of ``packets``.

    ``address`` is the switch's own. ``bit`` is the worker bit that frames at this port must have,
    and ``place`` the bit by which the switch's parents know it, if it may have parents. Only the
    fields of ``params.packet`` are kept of a frame. Throughput: a beat a cycle; ``axis.tready`` is
    always high, as a MAC cannot wait. Latency: :attr:`latency`. Full: the packet is lost, and
    ``overflow`` pulses.

    If jobs are tenants, a command does not become a packet: ``command`` pulses with the ``head``, a
    cycle after the frame. Any other control frame becomes a packet, so that it is counted as
    malformed or foreign.
    """

    def __init__(self, params: PacketSwitchParams) -> None:
        self.latency = FrameFilter.latency + params.ingress_fifo.latency
        super().__init__(
            params,
            axis=In(params.frames.axis),
            address=In(48),
            bit=In(32),
            **({"place": In(32)} if params.parents else {}),
            packets=Out(stream.Signature(params.packet)),
            overflow=Out(1),
            **({"command": Out(1), "head": Out(TenancyHead)} if params.tenants else {}),
        )

    def build(self, m: Module) -> None:
        m.submodules.filter = judge = FrameFilter(self.params.frames)
        m.submodules.fifo = fifo = Fifo(self.params.ingress_fifo)
        connect(m, flipped(self.axis), judge.axis)
        connect(m, fifo.o, flipped(self.packets))
        frame, entering = self.params.frames.read(m, judge), fifo.i.payload
        # Fields that only a switch's answers have must be zero in a worker's frame.
        said = Cat(frame[name] for name in self.params.only_answers).any()
        answer = (judge.quality == Quality.GOOD) & said
        packet_comes = judge.valid & ~self.command if self.params.tenants else judge.valid
        if self.params.tenants:
            self.report_commands(m)
        m.d.comb += [
            judge.address.eq(self.address),
            entering.quality.eq(Mux(answer, Quality.MALFORMED, judge.quality)),
            entering.own.eq(frame.bm == self.bit),
            entering.known.eq(frame.job < self.params.jobs),
            *copied(entering.header, frame),
            *copied(entering, frame),
            fifo.i.valid.eq(packet_comes),
            self.overflow.eq(packet_comes & ~fifo.i.ready),
        ]
        if self.params.parents:
            m.d.comb += entering.to_switch.eq((frame.bm & self.place).any())

    def report_commands(self, m: Module) -> None:
        """Separate commands from packets, with a second filter for the format of commands."""
        m.submodules.commands = commands = FrameFilter(TENANCY_FRAMES)
        seen = ("tvalid", "tdata", "tkeep", "tlast", "tuser")
        m.d.comb += [getattr(commands.axis, name).eq(getattr(self.axis, name)) for name in seen]
        good = commands.valid & (commands.quality == Quality.GOOD)
        m.d.comb += [
            commands.address.eq(self.address),
            self.command.eq(good & is_command(commands.frame)),
            self.head.eq(commands.frame),
        ]
