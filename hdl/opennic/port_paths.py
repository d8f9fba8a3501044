"""Leads the packets of a MAC to the switch or to the host, and those of both to the MAC."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import count_ones, delay
from hdl.common.component import Component
from hdl.common.packet_buffer import PacketBufferParams
from hdl.common.packet_split import PacketSplit, PacketSplitParams
from hdl.common.packets import AXIS, to_axis
from hdl.common.params import Params, same_as, whole
from hdl.common.stream_arbiter import StreamArbiter, StreamArbiterParams
from hdl.netsparse.kind_split import KINDS, KindSplit
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
    "to_switch_dropped": "those of them that found no room, where the switch makes packets wait",
    "to_host": "packets of the MAC to the host",
    "to_host_dropped": "packets of the MAC to the host that were dropped for want of room",
    "to_host_malformed": "packets of the MAC to the host that were dropped as malformed",
    "from_host": "packets of the host to the MAC",
    "from_host_malformed": "packets of the host that were dropped as malformed",
    "from_switch": "packets of the switch to the MAC",
    "from_switch_malformed": "packets of the switch that it broke off, or that are too long",
}
EVENT_BITS = 2  #: width of the number of an event in a cycle, in which two streams may have one
PORT_EVENTS = data.StructLayout(dict.fromkeys(EVENTS, EVENT_BITS))


class PortPathsParams(Params, suffix="{ethertype:04x}_{host_words}_{switch_words}"):
    """Sets which packets are the switch's, and how many beats wait."""

    #: that of the switch's packets; 0: they are NetSparse's, reads and responses apart
    ethertype: int = whole(0x600, 0xFFFF, or_zero=True)
    #: beats that wait for the host, and for the MAC from the host
    host_words: int = same_as(PacketBufferParams, "words", default=512)
    #: beats that wait for the MAC from the switch
    switch_words: int = same_as(PacketBufferParams, "words", default=512)

    @property
    def arbiter(self) -> StreamArbiterParams:
        """Return the inputs of the MAC's arbiter: the host, then the switch's streams."""
        return StreamArbiterParams(shape=SIZED, count=1 + self.streams, last_bit=LAST_BIT)

    @property
    def streams(self) -> int:
        """Return the number of streams of the switch, each way."""
        return 1 if self.ethertype else KINDS

    @property
    def split(self) -> PacketSplit:
        """Return what finds the packets of each stream, and all others."""
        if self.ethertype:
            return EtherSplit(EtherSplitParams(ethertype=self.ethertype, rest=True))
        return KindSplit(PacketSplitParams(rest=True))


class PortPaths(Component):
    """Leads packets of a MAC's ``rx`` to the switch or to the host, and those of both to ``tx``.

    A packet with the switch's EtherType goes to ``to_switch[0]`` as it comes, and the switch
    cannot make it wait; a malformed one, whose size is not ``tuser_size``, ends with ``tuser``.
    NetSparse's are stored first, as that switch may make them wait; a malformed one, and one that
    finds no room, is dropped. All others
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
            rx=In(BOX_STREAM),
            h2c=In(BOX_STREAM),
            from_switch=In(AXIS).array(params.streams),
            tx=Out(stream.Signature(params.arbiter.output)),
            c2h=Out(stream.Signature(SIZED)),
            to_switch=Out(AXIS).array(params.streams),
            hold=In(1),
            idle=Out(1),
            events=Out(PORT_EVENTS),
        )

    def build(self, m: Module) -> None:
        params, events = self.params, self.events
        m.submodules.split = split = params.split
        m.submodules.arbiter = arbiter = StreamArbiter(params.arbiter)
        received = self.measure(m, "received", self.rx)
        connect(m, received.o, split.mac)
        size = delay(m, received.size, split.latency, "received_size")
        *own, others = split.o
        dropped = [self.to_stream(m, k, axis, size) for k, axis in enumerate(own)]
        to_host = self.dropping_store(m, "to_host", others, size, params.host_words)
        sent = self.measure(m, "sent", self.h2c)
        stores = [self.waiting_store(m, "from_host", sent, params.host_words)]
        for k, axis in enumerate(self.from_switch):
            m.submodules[f"answered_{k}"] = answered = PacketMeasure(PacketMeasureParams())
            connect(m, flipped(axis), answered.axis)
            name = f"from_switch_{k}"
            stores.append(self.waiting_store(m, name, answered, params.switch_words))
        for store, stream_in in zip(stores, arbiter.i, strict=True):
            connect(m, store.o, stream_in)
        idle_tx = self.gate(m, "tx", arbiter.o, params.arbiter.output, "payload")
        idle_c2h = self.gate(m, "c2h", to_host.o, SIZED)
        ends = [axis.tvalid & axis.tlast for axis in own]
        from_host, *from_switch = stores
        m.d.comb += [
            received.room.eq(1),
            self.idle.eq(idle_tx & idle_c2h),
            events.to_switch.eq(Cat(ends).any()),
            events.to_switch_malformed.eq(
                Cat(e & a.tuser for e, a in zip(ends, own, strict=True)).any()
            ),
            events.to_switch_dropped.eq(Cat(dropped).any()),
            events.to_host.eq(to_host.kept),
            events.to_host_dropped.eq(to_host.dropped),
            events.to_host_malformed.eq(to_host.malformed),
            events.from_host.eq(from_host.kept),
            events.from_host_malformed.eq(from_host.malformed),
            events.from_switch.eq(count_ones([store.kept for store in from_switch])),
            events.from_switch_malformed.eq(count_ones([store.malformed for store in from_switch])),
        ]

    def to_stream(self, m: Module, k: int, axis: Any, size: Value) -> Value:
        """Lead packets to a stream of the switch; return whether one finds no room."""
        if self.params.ethertype:
            copy_axis(m, axis, self.to_switch[k])
            return Const(0)
        store = self.dropping_store(m, f"to_switch_{k}", axis, size, self.params.switch_words)
        to_axis(m, store.o, self.to_switch[k], store.o.payload)
        return store.dropped

    def dropping_store(self, m: Module, name: str, axis: Any, size: Value, words: int) -> Any:
        """Return the store of packets of the MAC, which does not wait."""
        m.submodules[name] = store = PacketStore(PacketStoreParams(words=words, behind=1))
        connect(m, axis, store.i)
        m.d.comb += store.size.eq(size)
        return store

    def measure(self, m: Module, name: str, box: Any) -> PacketMeasure:
        """Return what measures the packets of a stream of the shell, and holds it to its size."""
        m.submodules[name] = measure = PacketMeasure(PacketMeasureParams(stated=True))
        copy_axis(m, box, measure.axis, "tdata", "tkeep", "tlast")
        m.d.comb += measure.stated.eq(box.tuser_size)
        return measure

    def waiting_store(
        self, m: Module, name: str, measure: PacketMeasure, words: int
    ) -> PacketStore:
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
