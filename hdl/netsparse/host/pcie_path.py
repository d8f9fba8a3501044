"""Connects all units to host memory over PCI Express, through one requester."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.local_reset import BLOCK_RESET_CYCLES, add_block
from hdl.netsparse.host.params import EVENTS, HostParams
from hdl.netsparse.host.pcie_reader import PcieReader
from hdl.netsparse.host.pcie_writer import PcieWriter
from hdl.pcie.function_reset import FUNCTION, FunctionReset
from hdl.pcie.read_pace import SHARE_BITS
from hdl.pcie.requester import Requester

#: Names of a requester's ports to the block, which are the same here.
BLOCK_PORTS = ("rq", "rc", "limits", "credits", "numbers")


class PciePath(Component):
    """Reads and writes properties of all units through AMD's block for PCI Express.

    ``requests`` and ``beats`` are those of a :class:`PcieReader`, ``properties`` and ``done`` those
    of a :class:`PcieWriter`; ``rq``, ``rc``, ``limits``, ``credits`` and ``numbers`` those of a
    :class:`Requester`, and ``function`` is that of a :class:`FunctionReset`. Reads of all
    units together keep to ``share`` (:class:`hdl.pcie.read_pace.ReadPace`). ``read`` and ``write``
    have a ``bus`` each, with its state, and ``events``. The period of ``watch.tick`` must be longer
    than the block's completion time-out.

    A reset of the function, or the loss of bus mastership, ends everything under way: reads have
    ``failed``, except one or two that were not sent, and are sent when the host has made the
    function a bus master again; writes that are not known to be at the host have ``failed`` as
    well. Both buses are ``broken`` from then on until they are revived.

    Throughput: a property a cycle in each direction. Latency: :attr:`request_latency` from a unit's
    request to RQ, :attr:`beat_latency` from a read's last completion to the unit.
    """

    reset_cycles = BLOCK_RESET_CYCLES

    def __init__(self, params: HostParams) -> None:
        requester = Requester(params.requester)
        self.request_latency = PcieReader.request_latency + requester.request_latency
        self.beat_latency = requester.latency + PcieReader.beat_latency
        block = requester.signature.members
        super().__init__(
            params,
            requests=In(stream.Signature(params.read_request)).array(params.units),
            beats=Out(params.read_beat),
            properties=In(stream.Signature(params.property_beat)).array(params.units),
            done=Out(params.done),
            share=In(SHARE_BITS),
            watch=In(WATCH),
            **{f"{path}_bus": Out(BUS) for path in ("read", "write")},
            **{f"{path}_events": Out(EVENTS) for path in ("read", "write")},
            **{name: block[name] for name in BLOCK_PORTS},
            function=In(FUNCTION),
        )

    def build(self, m: Module) -> None:
        requester = Requester(self.params.requester)
        add_block(m, "requester", requester)
        m.submodules.reader = reader = PcieReader(self.params)
        m.submodules.writer = writer = PcieWriter(self.params)
        for k in range(self.params.units):
            connect(m, flipped(self.requests[k]), reader.requests[k])
            connect(m, flipped(self.properties[k]), writer.properties[k])
        connect(m, reader.demands, requester.requests)
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
            requester.share.eq(self.share),
            requester.tick.eq(self.watch.tick),
            reader.watch.eq(self.watch),
            writer.watch.eq(self.watch),
            self.read_bus.eq(reader.bus),
            self.write_bus.eq(writer.bus),
            self.read_events.eq(reader.events),
            self.write_events.eq(writer.events),
        ]
        self.obey_reset(m)

    def obey_reset(self, m: Module) -> None:
        """Connect the reset of the function, which ends everything under way."""
        parts = m.submodules
        requester, reader, writer = parts.requester, parts.reader, parts.writer
        m.submodules.reset = reset = FunctionReset()
        connect(m, flipped(self.function), reset.function)
        m.d.comb += [
            reset.tick.eq(self.watch.tick),
            reset.idle.eq(requester.idle),
            reset.owes.eq(requester.writes_owe | writer.pending),
            requester.stop.eq(reset.stop),
            requester.clear_writes.eq(reset.clear),
            reader.reset.eq(reset.begins),
            writer.reset.eq(reset.begins),
            writer.cleared.eq(reset.clear),
        ]
