"""Routes rows to device memory, a consumer on the card, or the bus, as the work request says."""

from amaranth.hdl import Module
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.streams import forward
from hdl.gather.engine_params import GatherEngineParams
from hdl.gather.row_poster import RowPoster
from hdl.gather.row_stream import RowStream
from hdl.gather.row_writer import EVENTS as WRITES
from hdl.gather.row_writer import RowWriter

#: Lists the events to be counted: those of device memory, and a pulse for each beat that is
#: streamed or posted.
EVENTS = data.StructLayout({"writes": WRITES, "streamed": 1, "posted": 1})


class RowOutput(Component):
    """Sends ``rows`` to ``m_axi`` through a :class:`RowWriter`, or, if ``streamed``, to ``m_axis``.

    ``params.outputs`` says which outputs the build has; if rows are ``posted``, they go through a
    :class:`RowPoster` to ``writes`` and ``posts``. ``address`` is the writer's and the poster's,
    which also needs ``size``; ``watch`` and ``bus`` are the writer's, and ``silent`` is that of the
    :class:`RowStream`; ``begin``, ``halt``, ``done`` and ``failed`` are those of the output that
    ``streamed`` and ``posted`` select, which must be stable from ``begin`` to ``done``.
    """

    latency = RowWriter.latency

    def __init__(self, params: GatherEngineParams) -> None:
        memory = {"m_axi": Out(params.port.write_bus)} if params.to_memory else {}
        consumer = {"m_axis": Out(params.axis)} if params.to_stream else {}
        writes = stream.Signature(params.requester.writes.cutter.request)
        host = {
            "size": In(params.size_bits),
            "writes": Out(writes),
            "posts": Out(stream.Signature(params.data_bits)),
        }
        super().__init__(
            params,
            streamed=In(1),
            posted=In(1),
            address=In(64),
            begin=In(1),
            halt=In(1),
            rows=In(stream.Signature(params.gather.beat)),
            done=Out(1),
            failed=Out(1),
            silent=Out(1),
            events=Out(EVENTS),
            watch=In(WATCH),
            bus=Out(BUS),
            **memory,
            **consumer,
            **(host if params.to_host else {}),
        )

    def build(self, m: Module) -> None:
        if self.params.to_memory:
            m.submodules.writer = writer = RowWriter(self.params)
            connect(m, writer.m_axi, flipped(self.m_axi))
            m.d.comb += [
                writer.address.eq(self.address[: self.params.address_bits]),
                writer.watch.eq(self.watch),
                self.bus.eq(writer.bus),
                self.events.writes.eq(writer.events),
            ]
            self.use(m, writer, ~self.streamed & ~self.posted)
        if self.params.to_stream:
            m.submodules.stream = consumer = RowStream(self.params)
            connect(m, consumer.m_axis, flipped(self.m_axis))
            m.d.comb += [
                consumer.tick.eq(self.watch.tick),
                self.silent.eq(consumer.silent),
                self.events.streamed.eq(consumer.moved),
            ]
            self.use(m, consumer, self.streamed)
        if self.params.to_host:
            m.submodules.poster = poster = RowPoster(self.params)
            connect(m, poster.writes, flipped(self.writes))
            connect(m, poster.data, flipped(self.posts))
            m.d.comb += [
                poster.address.eq(self.address),
                poster.size.eq(self.size),
                self.events.posted.eq(poster.moved),
            ]
            self.use(m, poster, self.posted)

    def use(self, m: Module, part: RowWriter | RowStream | RowPoster, meant) -> None:
        """Connect ``part`` to rows and control, which it takes while ``meant`` selects it."""
        m.d.comb += part.rows.payload.eq(self.rows.payload)
        with m.If(meant):
            m.d.comb += [
                *forward(self.rows, part.rows),
                part.begin.eq(self.begin),
                part.halt.eq(self.halt),
                self.done.eq(part.done),
            ]
            if not isinstance(part, RowPoster):  # nothing answers a posted write
                m.d.comb += self.failed.eq(part.failed)
