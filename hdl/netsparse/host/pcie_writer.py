"""Writes properties to host memory over PCI Express, for all units."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.bus_watch import BUS, WATCH, overdue
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import BEAT_BYTES
from hdl.common.stream_arbiter import StreamArbiter
from hdl.netsparse.host.params import EVENTS, HostParams

AHEAD = 16  #: most beats of properties that wait for their packets
WRITES = 128  #: most properties without an end: twice as many as the block can have packets of


class PcieWriter(Component):
    """Writes the ``properties`` of all units; ``done`` reports each, in the order taken.

    For units it has the interface of a :class:`hdl.netsparse.host.host_writer.HostWriter`.
    ``writes``, ``data``, ``begun``, ``visible`` and ``owes`` belong to a
    :class:`hdl.pcie.requester.Requester`. ``done`` comes when the write is ``visible``: no later
    message to the host can overtake it. A posted write has no answer, so a write fails only by a
    ``reset``: when the writes are ``cleared``, those that are not visible are lost and fail. From
    the beginning of the reset ``bus`` is ``broken`` until it is revived, and new writes fail at
    once, in order. ``pending``: some write is neither visible nor lost. After a time-out without
    progress of any write ``bus`` is ``silent`` until it is revived.

    Throughput: a beat of a property a cycle. Latency: :attr:`request_latency` from a property's
    first beat to ``writes`` (one more if another unit was last), :attr:`done_latency` from
    ``visible``.
    """

    request_latency = StreamArbiter.latency
    done_latency = 1

    def __init__(self, params: HostParams) -> None:
        writes = params.requester.writes
        super().__init__(
            params,
            properties=In(stream.Signature(params.property_beat)).array(params.units),
            done=Out(params.done),
            writes=Out(stream.Signature(writes.cutter.request)),
            data=Out(stream.Signature(writes.data_bits)),
            begun=In(1),
            visible=In(writes.fence.reported),
            owes=In(1),
            reset=In(1),
            cleared=In(1),
            pending=Out(1),
            watch=In(WATCH),
            bus=Out(BUS),
            events=Out(EVENTS),
        )

    def build(self, m: Module) -> None:
        body = self.params.property_beat
        m.submodules.arbiter = arbiter = StreamArbiter.sized(
            shape=body, count=self.params.units, last_bit=body["last"].offset
        )
        for provided, turn in zip(self.properties, arbiter.i, strict=True):
            connect(m, flipped(provided), turn)
        m.submodules.waiting = waiting = Fifo.sized(
            shape=8 * BEAT_BYTES, depth=AHEAD, style="distributed"
        )
        connect(m, waiting.o, flipped(self.data))
        chosen, beat = arbiter.o.payload, arbiter.o.payload.payload
        m.submodules.order = order = Fifo.sized(
            shape=self.params.unit_bits + 1, depth=WRITES, style="distributed"
        )
        first, moves = Signal(init=1), Signal()
        refuses, refused = Signal(), Signal()  # the property is refused
        m.d.comb += [
            refuses.eq(Mux(first, self.bus.broken, refused)),
            self.writes.payload.address.eq(beat.address),
            self.writes.payload.bytes.eq(beat.bytes),
            self.writes.valid.eq(
                arbiter.o.valid & first & ~refuses & waiting.i.ready & order.i.ready
            ),
            arbiter.o.ready.eq(
                Mux(
                    refuses,
                    order.i.ready,
                    waiting.i.ready & (~first | (self.writes.ready & order.i.ready)),
                )
            ),
            moves.eq(arbiter.o.valid & arbiter.o.ready),
            waiting.i.payload.eq(beat.data),
            waiting.i.valid.eq(moves & ~refuses),
            order.i.payload.eq(Cat(refuses, chosen.index)),
            order.i.valid.eq(moves & Mux(refuses, beat.last, first)),
        ]
        with m.If(moves):
            m.d.sync += [first.eq(beat.last), refused.eq(refuses)]
        m.d.sync += [
            self.events.property.eq(moves & beat.last & ~refuses),
            self.events.request.eq(self.begun),
        ]
        self.end(m, order)
        self.look(m, arbiter.o.valid & ~refuses)

    def end(self, m: Module, order: Fifo) -> None:
        """Report the end of each property, done or failed."""
        refused, unit = order.o.payload[0], order.o.payload[1:]
        m.d.comb += [
            order.o.ready.eq(refused | self.cleared | self.visible.valid),
            self.pending.eq(order.o.valid & ~refused),
        ]
        m.d.sync += [
            self.done.valid.eq(order.o.valid & order.o.ready),
            self.done.unit.eq(unit),
            self.done.failed.eq(refused | self.cleared),
        ]
        with m.If(self.reset):
            m.d.sync += self.bus.broken.eq(1)
        with m.Elif(self.watch.revive):
            m.d.sync += self.bus.broken.eq(0)

    def look(self, m: Module, waits: Signal) -> None:
        """Report whether writes make no progress."""
        late = overdue(m, self.watch.tick, waits | self.owes, self.begun | self.visible.valid)
        with m.If(late):
            m.d.sync += self.bus.silent.eq(1)
        with m.Elif(self.watch.revive):
            m.d.sync += self.bus.silent.eq(0)
        m.d.comb += self.bus.owes.eq(self.owes)
