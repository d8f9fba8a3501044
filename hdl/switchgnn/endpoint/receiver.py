"""Receives the worker's frames: it checks them, and writes each sum and copy to memory once."""

from amaranth.hdl import Module
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.switch.frame_filter import Quality
from hdl.switch.packet_port import PacketPort
from hdl.switchgnn.endpoint.arrivals import Arrivals
from hdl.switchgnn.endpoint.bundles import ACKNOWLEDGEMENT, LOOKUP, SLOT_BITS, SLOTS, Verdict
from hdl.switchgnn.endpoint.memory_layouts import WORD_BITS
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.required_table import RequiredTable
from hdl.switchgnn.endpoint.sum_writer import SumWriter
from hdl.switchgnn.endpoint.taker import TURNS, Taker

#: Describes the events of received packets in a cycle.
RECEIVER_EVENTS = data.StructLayout(
    {
        "verdict": Verdict,
        "marked": 1,  # a frame has a congestion mark
        "judged": 1,  # a packet came, of this quality
        "quality": Quality,
        "lost": 1,  # there was no room for it
        "writes_wait": 1,  # the memory stalls frames
    }
)


class Receiver(Component):
    """Receives the frames of ``axis``, which a :class:`Taker` carries out.

    ``words`` and ``set`` load the table of missing items, and ``scan`` reads it. ``complete`` has a
    bit for each slot: nothing of it is missing, and everything received for it is in memory, as the
    bus has acknowledged. ``news`` is high when a missing item has come for ``news_slot``.

    Throughput: a beat a cycle. Full: frames are lost, because the MAC cannot wait; they are sent
    again.
    """

    def __init__(self, params: EndpointParams) -> None:
        place = params.table_bits
        taker = Taker(params).signature.members
        writer = SumWriter(params).signature.members
        table = RequiredTable(params).signature.members
        super().__init__(
            params,
            axis=In(AXIS),
            settings=In(params.settings),
            turns=In(TURNS),
            lo=In(32),
            next=In(32),
            sending=In(32),
            **{name: table[name] for name in ("set", "set_slot", "set_missing")},
            words=table["loads"],
            scan=In(stream.Signature(place)),
            word=Out(WORD_BITS),
            **{name: taker[name] for name in ("slot", "context", "advance", "congested")},
            ack=Out(ACKNOWLEDGEMENT),
            lookups=Out(stream.Signature(LOOKUP)),
            **{name: writer[name] for name in ("stop", "bursts", "beats")},
            **{name: writer[name] for name in ("answered", "answered_slot")},
            empty=Out(SLOTS),
            complete=Out(SLOTS),
            news=Out(1),
            news_slot=Out(SLOT_BITS),
            events=Out(RECEIVER_EVENTS),
        )

    def build(self, m: Module) -> None:
        params, settings = self.params, self.settings
        m.submodules.port = port = PacketPort(params.port)
        m.submodules.arrivals = arrivals = Arrivals(params)
        m.submodules.taker = taker = Taker(params)
        m.submodules.table = table = RequiredTable(params)
        m.submodules.writer = writer = SumWriter(params)
        connect(m, flipped(self.axis), port.axis)
        connect(m, port.packets, arrivals.packets)
        connect(m, arrivals.beats, taker.beats)
        connect(m, taker.writes, writer.writes)
        connect(m, taker.lookups, flipped(self.lookups))
        connect(m, flipped(self.words), table.loads)
        connect(m, flipped(self.scan), table.scan)
        connect(m, writer.bursts, flipped(self.bursts))
        connect(m, writer.beats, flipped(self.beats))
        own = arrivals.own
        m.d.comb += [
            port.address.eq(settings.address),
            *(own[name].eq(settings[name]) for name in ("worker", "job", "epoch")),
            *(own[name].eq(getattr(self, name)) for name in ("lo", "next", "sending")),
            taker.turns.eq(self.turns),
            taker.word.eq(table.word),
            taker.context.eq(self.context),
            self.slot.eq(taker.slot),
            self.advance.eq(taker.advance),
            self.congested.eq(taker.congested),
            self.ack.eq(taker.ack),
            *(
                getattr(table, name).eq(getattr(taker, name))
                for name in ("look", "place", "clear", "cleared_place", "cleared")
            ),
            *(
                getattr(table, name).eq(getattr(self, name))
                for name in ("set", "set_slot", "set_missing")
            ),
            self.word.eq(table.word),
            *(
                getattr(writer, name).eq(getattr(self, name))
                for name in ("stop", "answered", "answered_slot")
            ),
            self.empty.eq(table.empty),
            self.complete.eq(table.empty & writer.written),
            self.news.eq(taker.clear),
            self.news_slot.eq(taker.cleared_place[-SLOT_BITS:]),
            self.events.verdict.eq(taker.verdict),
            self.events.marked.eq(taker.marked),
            self.events.judged.eq(port.judged),
            self.events.quality.eq(port.quality),
            self.events.lost.eq(port.lost),
            self.events.writes_wait.eq(taker.writes.valid & ~taker.writes.ready),
        ]
