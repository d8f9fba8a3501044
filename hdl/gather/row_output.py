"""Routes rows to device memory or to a consumer on the card, as the work request says."""

from amaranth.hdl import Module
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.streams import forward
from hdl.gather.engine_params import GatherEngineParams
from hdl.gather.row_stream import RowStream
from hdl.gather.row_writer import EVENTS as WRITES
from hdl.gather.row_writer import RowWriter

#: Lists the events to be counted: those of device memory, and a pulse for each beat streamed.
EVENTS = data.StructLayout({"writes": WRITES, "streamed": 1})


class RowOutput(Component):
    """Sends ``rows`` to ``m_axi`` through a :class:`RowWriter`, or, if ``streamed``, to ``m_axis``.

    ``params.outputs`` says which of the two outputs the build has. ``address``, ``watch`` and
    ``bus`` are the writer's, and ``silent`` is that of the :class:`RowStream`; ``begin``, ``halt``,
    ``done`` and ``failed`` are those of the output that ``streamed`` selects. ``streamed`` must be
    stable from ``begin`` to ``done``.
    """

    latency = RowWriter.latency

    def __init__(self, params: GatherEngineParams) -> None:
        memory = {"m_axi": Out(params.port.write_bus)} if params.to_memory else {}
        consumer = {"m_axis": Out(params.axis)} if params.to_stream else {}
        super().__init__(
            params,
            {
                "streamed": In(1),
                "address": In(params.address_bits),
                "begin": In(1),
                "halt": In(1),
                "rows": In(stream.Signature(params.gather.beat)),
                "done": Out(1),
                "failed": Out(1),
                "silent": Out(1),
                "events": Out(EVENTS),
                "watch": In(WATCH),
                "bus": Out(BUS),
                **memory,
                **consumer,
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        if self.params.to_memory:
            m.submodules.writer = writer = RowWriter(self.params)
            connect(m, writer.m_axi, flipped(self.m_axi))
            m.d.comb += [
                writer.address.eq(self.address),
                writer.watch.eq(self.watch),
                self.bus.eq(writer.bus),
                self.events.writes.eq(writer.events),
            ]
            self.use(m, writer, ~self.streamed)
        if self.params.to_stream:
            m.submodules.stream = consumer = RowStream(self.params)
            connect(m, consumer.m_axis, flipped(self.m_axis))
            m.d.comb += [
                consumer.tick.eq(self.watch.tick),
                self.silent.eq(consumer.silent),
                self.events.streamed.eq(consumer.moved),
            ]
            self.use(m, consumer, self.streamed)
        return m

    def use(self, m: Module, part: RowWriter | RowStream, meant) -> None:
        """Connect ``part`` to rows and control, which it takes while ``meant`` selects it."""
        m.d.comb += part.rows.payload.eq(self.rows.payload)
        with m.If(meant):
            m.d.comb += [
                *forward(self.rows, part.rows),
                part.begin.eq(self.begin),
                part.halt.eq(self.halt),
                self.done.eq(part.done),
                self.failed.eq(part.failed),
            ]
