"""Brings rows where a work request wants them: into device memory, or to a consumer."""

from amaranth.hdl import Module
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.gather.engine_params import GatherEngineParams
from hdl.gather.row_stream import RowStream
from hdl.gather.row_writer import EVENTS as WRITES
from hdl.gather.row_writer import RowWriter

#: What is told, for a cycle each, to be counted: of device memory, and a beat of the stream.
EVENTS = data.StructLayout({"writes": WRITES, "streamed": 1})


class RowOutput(Component):
    """``rows`` go to ``m_axi`` by a :class:`RowWriter`, or, if ``streamed``, to ``m_axis``.

    There are those of both that ``params.outputs`` names. ``address``, ``watch`` and ``bus`` are
    the writer's, ``silent`` is that of the :class:`RowStream`, and ``begin``, ``halt``, ``done``
    and ``failed`` are of the one that is meant. ``streamed`` holds still from ``begin`` to
    ``done``.
    """

    latency = RowWriter.latency

    def __init__(self, params: GatherEngineParams) -> None:
        memory = {"m_axi": Out(params.axi_writes)} if params.to_memory else {}
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
        """Give rows to ``part`` where it is ``meant``."""
        m.d.comb += part.rows.payload.eq(self.rows.payload)
        with m.If(meant):
            m.d.comb += [
                part.rows.valid.eq(self.rows.valid),
                self.rows.ready.eq(part.rows.ready),
                part.begin.eq(self.begin),
                part.halt.eq(self.halt),
                self.done.eq(part.done),
                self.failed.eq(part.failed),
            ]
