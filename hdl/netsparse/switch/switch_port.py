"""Receives packets of one class: finds their output port, and limits their length."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import AXIS, BEAT_BYTES, in_lanes
from hdl.netsparse.protocol import PACKET_HEADER
from hdl.netsparse.switch.params import BEAT, NetSparseSwitchParams
from hdl.netsparse.switch.routing_table import RoutingTable

WAITING_BEATS = 16  #: beats that a port holds
UNDER_WAY = 3  #: most beats that come before ``tready`` goes low

#: Describes the events of a class at a port, two cycles after the beat was taken.
PORT_EVENTS = data.StructLayout(
    {
        "packet": 1,  # the last beat of a packet came, good or not
        "bytes": bits_for(BEAT_BYTES),  # bytes of a beat
        "no_route": 1,  # a packet is dropped because its dest has no route
        "short": 1,  # a packet is dropped because it ends with the header or within
        "cut": 1,  # a packet is cut because it is longer than the MTU
    }
)


class SwitchPort(Component):
    """Adds to the beats of ``axis`` the port that leads to their packet's dest.

    A packet whose dest has no route, or that ends with its header or within, is dropped. A packet
    with more beats than the MTU is cut there, marked as broken (``tuser``), and the rest of it is
    dropped. All other errors of a packet are detected in the middle pipe, or at its destination.

    ``begins`` says that the next beat of ``axis`` is a packet's first. Its driver is not reset with
    this component, so the rest of a packet that a reset has cut is dropped, too.

    Throughput: a beat a cycle. Latency: :attr:`latency` from a beat taken to the same beat at
    ``o``. Full: ``axis`` waits; ``tready`` is a register. ``events`` are :data:`PORT_EVENTS`.
    """

    latency = RoutingTable.latency + 1

    def __init__(self, params: NetSparseSwitchParams) -> None:
        super().__init__(
            params,
            write=In(params.write_route),
            axis=In(AXIS),
            begins=In(1),
            o=Out(stream.Signature(params.routed)),
            events=Out(PORT_EVENTS),
        )

    def build(self, m: Module) -> None:
        params, axis = self.params, self.axis
        m.submodules.table = table = RoutingTable(params)
        m.submodules.fifo = fifo = Fifo.sized(
            shape=params.routed, depth=WAITING_BEATS, style="distributed"
        )
        taken = Signal()
        m.d.comb += [
            taken.eq(axis.tvalid & axis.tready),
            table.write.eq(self.write),
            table.dest.eq(data.View(PACKET_HEADER, in_lanes(axis.tdata)).concatenation.dest),
            table.step.eq(taken & self.begins),
        ]
        m.d.sync += axis.tready.eq(fifo.level <= WAITING_BEATS - UNDER_WAY)
        valid = Signal()
        first = Signal(reset_less=True)
        beat = Signal(BEAT, reset_less=True)
        m.d.sync += [
            valid.eq(taken),
            first.eq(self.begins),
            *(beat[name].eq(getattr(axis, name)) for name in BEAT.members),
        ]
        self.judge(m, valid, first, beat, table.route, fifo)
        connect(m, fifo.o, flipped(self.o))

    def judge(self, m: Module, valid, first, beat, route, fifo: Fifo) -> None:
        """Queue the beats that are let in, and report events."""
        most = self.params.packet_beats
        index = Signal(range(most))  # number of a beat in its packet, unless one is dropped
        dropping = Signal(init=1)  # the rest of the packet is dropped
        short = Signal()
        no_route = Signal()
        drops = Signal()
        cuts = Signal()
        entry = Signal(self.params.routed)
        m.d.comb += [
            short.eq(first & (beat.tlast | ~beat.tkeep[-1])),
            no_route.eq(first & ~short & ~route.known),
            drops.eq(short | no_route | (dropping & ~first)),
            cuts.eq(~drops & (index == most - 1) & ~beat.tlast),
            entry.egress.eq(route.port),
            entry.beat.eq(beat),
            entry.beat.tlast.eq(beat.tlast | cuts),
            entry.beat.tuser.eq(beat.tuser | cuts),
            fifo.i.payload.eq(entry),
            fifo.i.valid.eq(valid & ~drops),
        ]
        with m.If(valid):
            m.d.sync += [
                dropping.eq(drops | cuts),
                index.eq(Mux(beat.tlast, 0, index + 1)),
            ]
        m.d.sync += [
            self.events.packet.eq(valid & beat.tlast),
            self.events.bytes.eq(Mux(valid, count_ones(list(beat.tkeep)), 0)),
            self.events.no_route.eq(valid & no_route),
            self.events.short.eq(valid & short),
            self.events.cut.eq(valid & cuts),
        ]
