"""Leads the packets of a MAC to the switch or to the host, and those of both to the MAC."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.packet_buffer import PacketBufferParams
from hdl.common.packet_split import PacketSplit
from hdl.common.packets import AXIS
from hdl.common.params import Params, same_as, whole
from hdl.common.stream_arbiter import StreamArbiter, StreamArbiterParams
from hdl.opennic.box import BOX_STREAM
from hdl.opennic.ether_split import EtherSplit, EtherSplitParams
from hdl.opennic.output_gate import OutputGate, OutputGateParams
from hdl.opennic.packet_measure import PacketMeasure, PacketMeasureParams
from hdl.opennic.packet_store import SIZED, PacketStore, PacketStoreParams

LAST_BIT = SIZED["last"].offset
#: Describes what is counted at a port: names of events, and what each counts.
EVENTS = {
    "to_switch": "packets of the MAC for the switch, malformed ones included",
    "to_switch_malformed": "those of them whose size is not the one that the shell stated",
    "to_host": "packets of the MAC to the host",
    "to_host_dropped": "packets of the MAC to the host that were dropped for want of room",
    "to_host_malformed": "packets of the MAC to the host that were dropped as malformed",
    "from_host": "packets of the host to the MAC",
    "from_host_malformed": "packets of the host that were dropped as malformed",
    "from_switch": "packets of the switch to the MAC",
    "from_switch_malformed": "packets of the switch that it broke off, or that are too long",
}
PORT_EVENTS = data.StructLayout(dict.fromkeys(EVENTS, 1))


class PortPathsParams(Params, suffix="{ethertype:04x}_{host_words}_{switch_words}"):
    """Sets which packets are the switch's, and how many beats wait."""

    ethertype: int = whole(0x600, 0xFFFF)  #: that of the switch's packets
    #: beats that wait for the host, and for the MAC from the host
    host_words: int = same_as(PacketBufferParams, "words", default=512)
    #: beats that wait for the MAC from the switch
    switch_words: int = same_as(PacketBufferParams, "words", default=512)

    @property
    def arbiter(self) -> StreamArbiterParams:
        """Return the inputs of the MAC's arbiter: the host, then the switch."""
        return StreamArbiterParams(shape=SIZED, count=2, last_bit=LAST_BIT)


class PortPaths(Component):
    """Leads packets of a MAC's ``rx`` to the switch or to the host, and those of both to ``tx``.

    A packet with the switch's EtherType goes to ``to_switch`` as it comes, and the switch cannot
    make it wait; a malformed one, whose size is not ``tuser_size``, ends with ``tuser``. All others
    go to ``c2h`` when they have come whole; one that finds no room, as the host is slow, is dropped
    rather than that the switch's packets wait behind it. Packets of the host from ``h2c``, and of
    ``from_switch``, are stored whole, too, so that a slow one holds up nothing at ``tx``, where
    both take turns, and because the shell wants a packet's size with its first beat. ``tx.index``
    is 0 in a packet of the host.

    ``hold`` and ``idle`` are those of :class:`OutputGate`, at both outputs. ``events`` are EVENTS.
    Throughput: a beat a cycle on each path. Latency, in cycles: ``to_switch`` from ``rx``;
    ``to_host``, ``to_mac`` from a packet's last beat to its first at the output.
    """

    to_switch_latency = PacketMeasure.latency + PacketSplit.latency
    to_host_latency = to_switch_latency + PacketStore.latency
    to_mac_latency = PacketMeasure.latency + PacketStore.latency + StreamArbiter.latency

    def __init__(self, params: PortPathsParams) -> None:
        super().__init__(
            params,
            {
                "rx": In(BOX_STREAM),
                "h2c": In(BOX_STREAM),
                "from_switch": In(AXIS),
                "tx": Out(stream.Signature(params.arbiter.output)),
                "c2h": Out(stream.Signature(SIZED)),
                "to_switch": Out(AXIS),
                "hold": In(1),
                "idle": Out(1),
                "events": Out(PORT_EVENTS),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params, events = self.params, self.events
        split = EtherSplit(EtherSplitParams(ethertype=params.ethertype, rest=True))
        received = self.measure(m, "received", self.rx)
        m.submodules.split = split
        connect(m, received.o, split.mac)
        own, others = split.o
        copy_axis(m, own, self.to_switch)
        to_host = PacketStore(PacketStoreParams(words=params.host_words, behind=1))
        m.submodules.to_host = to_host
        connect(m, others, to_host.i)
        m.submodules.arbiter = arbiter = StreamArbiter(params.arbiter)
        from_host = self.store(m, "from_host", self.measure(m, "sent", self.h2c), params.host_words)
        answered = PacketMeasure(PacketMeasureParams())
        m.submodules.answered = answered
        connect(m, flipped(self.from_switch), answered.axis)
        from_switch = self.store(m, "from_switch", answered, params.switch_words)
        for k, store in enumerate((from_host, from_switch)):
            connect(m, store.o, arbiter.i[k])
        idle_tx = self.gate(m, "tx", arbiter.o, params.arbiter.output, "payload")
        idle_c2h = self.gate(m, "c2h", to_host.o, SIZED)
        ends = own.tvalid & own.tlast
        m.d.comb += [
            received.room.eq(1),
            to_host.size.eq(delay(m, received.size, split.latency, "received_size")),
            self.idle.eq(idle_tx & idle_c2h),
            events.to_switch.eq(ends),
            events.to_switch_malformed.eq(ends & own.tuser),
            events.to_host.eq(to_host.kept),
            events.to_host_dropped.eq(to_host.dropped),
            events.to_host_malformed.eq(to_host.malformed),
            events.from_host.eq(from_host.kept),
            events.from_host_malformed.eq(from_host.malformed),
            events.from_switch.eq(from_switch.kept),
            events.from_switch_malformed.eq(from_switch.malformed),
        ]
        return m

    def measure(self, m: Module, name: str, box: Any) -> PacketMeasure:
        """Return what measures the packets of a stream of the shell, and holds it to its size."""
        m.submodules[name] = measure = PacketMeasure(PacketMeasureParams(stated=True))
        copy_axis(m, box, measure.axis, "tdata", "tkeep", "tlast")
        m.d.comb += measure.stated.eq(box.tuser_size)
        return measure

    def store(self, m: Module, name: str, measure: PacketMeasure, words: int) -> PacketStore:
        """Return the store of the packets that ``measure`` passes, whose source waits for room."""
        store = PacketStore(PacketStoreParams(words=words, behind=PacketMeasure.latency))
        m.submodules[name] = store
        connect(m, measure.o, store.i)
        m.d.comb += [store.size.eq(measure.size), measure.room.eq(store.room)]
        return store

    def gate(self, m: Module, name: str, source: Any, shape: Any, inside: str = "") -> Any:
        """Connect ``source`` to the output ``name`` by a gate; return whether that is idle."""
        last_bit = (shape[inside].offset if inside else 0) + LAST_BIT
        gate = OutputGate(OutputGateParams(shape=shape, last_bit=last_bit))
        m.submodules[f"{name}_gate"] = gate
        connect(m, source, gate.i)
        connect(m, gate.o, flipped(getattr(self, name)))
        m.d.comb += gate.hold.eq(self.hold)
        return gate.idle


def copy_axis(m: Module, source: Any, sink: Any, *names: str) -> None:
    """Connect the signals ``names`` of a stream, or all that say a beat, and its handshake."""
    names = names or ("tdata", "tkeep", "tlast", "tuser")
    m.d.comb += [getattr(sink, name).eq(getattr(source, name)) for name in (*names, "tvalid")]
    m.d.comb += source.tready.eq(sink.tready)
