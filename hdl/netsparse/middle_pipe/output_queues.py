"""Queues packets that leave a middle pipe, with a queue for each port."""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.packets import AXIS, BEAT_BYTES
from hdl.common.params import Params
from hdl.netsparse.concat.packet_verdict import last_byte
from hdl.netsparse.switch.params import OUTPUT_BEAT, NetSparseSwitchParams


class OutputQueuesParams(Params):
    """Sets the class of the packets, and the switch."""

    switch: NetSparseSwitchParams
    payload: bool  #: whether for responses and errors, to all ports; else reads, to the pipe's

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: the class and the switch."""
        return f"{'responses' if self.payload else 'reads'}_{self.switch.suffix}"

    @property
    def ports(self) -> int:
        """Return the number of queues."""
        return self.switch.ports if self.payload else self.switch.pipe_ports

    def queue_of(self, port: Value) -> Value:
        """Return the number of the queue of ``port``."""
        if self.payload:
            return port
        return Array(Const(k // self.switch.pipes) for k in range(self.switch.ports))[port]

    @property
    def queue_bits(self) -> int:
        """Return the width of a queue's number."""
        return self.switch.output_room(self.payload).port_bits

    @property
    def fifo(self) -> FifoParams:
        """Return the sizes of one queue."""
        return FifoParams(shape=OUTPUT_BEAT, depth=self.switch.output_beats, refuses=False)


class OutputQueues(Component):
    """Queues the packets of ``axis``, each for the port for which it was let in.

    ``to`` is the queue of the packet whose beat is at ``axis``. Responses may go to all ports, and
    queue k is that of port k; reads go to the pipe's own ports, every ``params.switch.pipes``-th.
    ``left`` has a bit for each queue: a beat has left it. Throughput: a beat a cycle. Latency:
    :attr:`latency`. ``axis`` never waits: an :class:`hdl.switch.output_room.OutputRoom` ensures
    that queues have room for all packets.
    """

    def __init__(self, params: OutputQueuesParams) -> None:
        self.latency = 1 + params.fifo.latency
        super().__init__(
            params,
            axis=In(AXIS),
            to=In(params.queue_bits),
            o=Out(stream.Signature(OUTPUT_BEAT)).array(params.ports),
            left=Out(params.ports),
        )

    def build(self, m: Module) -> None:
        params, axis = self.params, self.axis
        valid = Signal()
        beat = Signal(OUTPUT_BEAT, reset_less=True)
        queue = Signal(params.queue_bits, reset_less=True)
        m.d.comb += axis.tready.eq(1)
        m.d.sync += [
            valid.eq(axis.tvalid),
            queue.eq(self.to),
            beat.data.eq(axis.tdata),
            beat.end.eq(last_byte(m, axis.tkeep)),
            beat.last.eq(axis.tlast),
        ]
        for k, o in enumerate(self.o):
            m.submodules[f"queue_{k}"] = fifo = Fifo(params.fifo)
            connect(m, fifo.o, flipped(o))
            m.d.comb += [
                fifo.i.valid.eq(valid & (queue == k)),
                fifo.i.payload.eq(beat),
                self.left[k].eq(o.valid & o.ready),
            ]
        expect(m, self, queue_exists=lambda: ~axis.tvalid | (self.to < params.ports))


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
