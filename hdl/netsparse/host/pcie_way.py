"""The way of all units to host memory over PCI Express: one requester, read and written by all."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.netsparse.host.params import EVENTS, HostParams
from hdl.netsparse.host.pcie_reader import PcieReader
from hdl.netsparse.host.pcie_writer import PcieWriter
from hdl.pcie.requester import Requester

#: Ports that a requester has to the block, of the same names here.
BLOCK_PORTS = ("rq", "rc", "limits", "credits", "numbers")


class PcieWay(Component):
    """Reads and writes properties of all units through AMD's block for PCI Express.

    ``requests`` and ``beats`` are those of a :class:`PcieReader`, ``properties`` and ``done`` those
    of a :class:`PcieWriter`; ``rq``, ``rc``, ``limits``, ``credits`` and ``numbers`` of a
    :class:`Requester`. Of ``read`` and ``write`` each, ``bus`` says how it is and ``events`` what
    happens. A tick of ``watch`` is to come more rarely than the block gives a read up.

    Throughput: a property a cycle each way. Latency: :attr:`request_latency` from a unit's ask to
    RQ, :attr:`beat_latency` from a read's last completion to the unit.
    """

    def __init__(self, params: HostParams) -> None:
        requester = Requester(params.requester)
        self.request_latency = PcieReader.request_latency + requester.request_latency
        self.beat_latency = requester.latency + PcieReader.beat_latency
        block = requester.signature.members
        super().__init__(
            params,
            {
                "requests": In(stream.Signature(params.read_request)).array(params.units),
                "beats": Out(params.read_beat),
                "properties": In(stream.Signature(params.property_beat)).array(params.units),
                "done": Out(params.done),
                "watch": In(WATCH),
                **{f"{way}_bus": Out(BUS) for way in ("read", "write")},
                **{f"{way}_events": Out(EVENTS) for way in ("read", "write")},
                **{name: block[name] for name in BLOCK_PORTS},
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.requester = requester = Requester(self.params.requester)
        m.submodules.reader = reader = PcieReader(self.params)
        m.submodules.writer = writer = PcieWriter(self.params)
        for k in range(self.params.units):
            connect(m, flipped(self.requests[k]), reader.requests[k])
            connect(m, flipped(self.properties[k]), writer.properties[k])
        connect(m, reader.asks, requester.requests)
        connect(m, requester.beats, reader.parts)
        connect(m, writer.writes, requester.writes)
        connect(m, writer.data, requester.data)
        connect(m, requester.rq, flipped(self.rq))
        connect(m, flipped(self.rc), requester.rc)
        m.d.comb += [
            self.beats.eq(reader.beats),
            self.done.eq(writer.done),
            reader.reads.eq(requester.events),
            reader.owes.eq(requester.owes),
            writer.begun.eq(requester.begun),
            writer.visible.eq(requester.visible),
            writer.owes.eq(requester.writes_owe),
            requester.limits.eq(self.limits),
            requester.credits.eq(self.credits),
            requester.numbers.eq(self.numbers),
            requester.tick.eq(self.watch.tick),
            reader.watch.eq(self.watch),
            writer.watch.eq(self.watch),
            self.read_bus.eq(reader.bus),
            self.write_bus.eq(writer.bus),
            self.read_events.eq(reader.events),
            self.write_events.eq(writer.events),
        ]
        return m
