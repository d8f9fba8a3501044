"""Packets that leave a middle pipe wait for their ports, each in its own queue."""

from dataclasses import dataclass
from typing import Any, cast

from amaranth.hdl import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.packets import AXIS, BEAT_BYTES, in_lanes
from hdl.netsparse.concat.packet_verdict import last_byte
from hdl.netsparse.protocol import PACKET_HEADER
from hdl.netsparse.switch.params import OUTPUT_BEAT, NetSparseSwitchParams
from hdl.netsparse.switch.routing_table import RoutingTable


@dataclass(frozen=True, kw_only=True)
class OutputQueuesParams:
    """Says which class of packets waits, and in what switch."""

    switch: NetSparseSwitchParams
    payload: bool  #: responses and errors, for all ports; else reads, for those of the pipe

    @property
    def suffix(self) -> str:
        """Tells the class and the switch."""
        return f"{'responses' if self.payload else 'reads'}_{self.switch.suffix}"

    @property
    def ports(self) -> int:
        """Return the number of queues."""
        return self.switch.ports if self.payload else self.switch.pipe_ports

    def queue_of(self, port: Value) -> Value:
        """Return which queue is that of ``port``."""
        if self.payload:
            return port
        return Array(Const(k // self.switch.pipes) for k in range(self.switch.ports))[port]

    @property
    def fifo(self) -> FifoParams:
        """Return the sizes of a queue."""
        return FifoParams(width=OUTPUT_BEAT.size, depth=self.switch.output_beats)


class OutputQueues(Component):
    """Queues the packets of ``axis`` for the port that leads to their dest.

    Responses may go to all ports, in their order; reads to those of the pipe, every
    ``params.switch.pipes``-th. ``left`` has a bit for each queue: a beat has left it. A packet
    without a route (the table has changed since it was let in) is dropped, as ``no_route`` says.
    Throughput: a beat a cycle. Latency: :attr:`latency`. Full: ``axis`` waits for the queue of its
    packet; :class:`hdl.switch.output_room.OutputRoom` sees to it that this never happens.
    """

    def __init__(self, params: OutputQueuesParams) -> None:
        self.latency = RoutingTable.latency + params.fifo.latency
        super().__init__(
            params,
            {
                "write": In(params.switch.write_route),
                "axis": In(AXIS),
                "o": Out(stream.Signature(OUTPUT_BEAT)).array(params.ports),
                "left": Out(params.ports),
                "no_route": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params, axis = self.params, self.axis
        m.submodules.table = table = RoutingTable(params.switch)
        valid = Signal()
        begins = Signal(init=1)  # the next beat is a packet's first
        first = Signal(reset_less=True)
        beat = Signal(OUTPUT_BEAT, reset_less=True)
        step = Signal()
        rooms = Signal(params.ports)
        queue = Signal(range(max(2, params.ports)))
        end = last_byte(m, axis.tkeep)
        m.d.comb += [
            queue.eq(params.queue_of(table.route.port)),
            step.eq(~valid | ~table.route.known | Array(rooms)[queue]),
            axis.tready.eq(step),
            table.write.eq(self.write),
            table.dest.eq(data.View(PACKET_HEADER, in_lanes(axis.tdata)).concatenation.dest),
            table.step.eq(step & begins),
            self.no_route.eq(valid & first & ~table.route.known),
        ]
        with m.If(step):
            m.d.sync += [
                valid.eq(axis.tvalid),
                first.eq(begins),
                beat.data.eq(axis.tdata),
                beat.end.eq(end),
                beat.last.eq(axis.tlast),
            ]
            with m.If(axis.tvalid):
                m.d.sync += begins.eq(axis.tlast)
        for k, o in enumerate(self.o):
            m.submodules[f"queue_{k}"] = fifo = Fifo(params.fifo)
            m.d.comb += [
                rooms[k].eq(fifo.i.ready),
                fifo.i.valid.eq(valid & table.route.known & (queue == k)),
                fifo.i.payload.eq(beat),
                cast(Any, o.payload).eq(data.View(OUTPUT_BEAT, fifo.o.payload)),
                o.valid.eq(fifo.o.valid),
                fifo.o.ready.eq(o.ready),
                self.left[k].eq(o.valid & o.ready),
            ]
        return m


def to_axis(m: Module, beat: Any, valid, ready, axis: Any) -> None:
    """Connect a stream of :data:`OUTPUT_BEAT` to the sink ``axis``."""
    m.d.comb += [
        axis.tdata.eq(beat.data),
        axis.tkeep.eq(Cat(1, *(beat.end >= k for k in range(1, BEAT_BYTES)))),
        axis.tlast.eq(beat.last),
        axis.tuser.eq(0),
        axis.tvalid.eq(valid),
        ready.eq(axis.tready),
    ]
