"""Reads work requests from a ring in host memory."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.ring_reader import RingReader
from hdl.common.rings import DESCRIPTOR_BYTES, INDEX_BITS, RING, Fault
from hdl.common.streams import forward
from hdl.gather.engine_params import DESCRIPTOR, WORK, GatherEngineParams
from hdl.pcie.descriptors import Cause

#: Holds events to count, each high for a cycle: a descriptor was ``read``, and was ``malformed``;
#: one could not be read, which has stopped the ring (``unread``); the ring has got a ``fault``.
EVENTS = data.StructLayout({"read": 1, "malformed": 1, "unread": 1, "fault": 1})


class WorkFetch(Component):
    """Reads the descriptors (:data:`DESCRIPTOR`) of ``ring``, and hands on their ``work`` in order.

    ``ring``, ``busy`` and ``fault`` are those of a :class:`RingReader`. A requester takes
    ``requests``, of 64 bytes each, and answers with ``beats``; at most ``params.descriptors``
    descriptors are read ahead of ``work``, so each beat finds room. ``consumer`` is the number of
    descriptors read since the ring was enabled; it keeps its value when the ring closes. A
    descriptor that cannot be read stops the ring, and ``cause`` says why until the ring has closed.
    That descriptor and all later ones do not count in ``consumer`` and do not become work.

    ``close`` closes the ring until the host has disabled it: from the next cycle on no descriptor
    is asked for. ``awaited`` is high while a descriptor that was asked for has not come; ``owes``
    is high until it has also left as work. While ``flush`` is high, descriptors that are awaited
    are given up; their beats must come in that time, or not at all.

    Throughput: a descriptor every 4 cycles while the reads cover the latency of host memory.
    Latency: :attr:`latency` cycles from the doorbell to ``requests``, :attr:`beat_latency` from a
    descriptor's last beat to ``work``. Stalls: while ``work`` is not taken, descriptors wait.
    """

    latency = RingReader.latency

    def __init__(self, params: GatherEngineParams) -> None:
        entry = data.StructLayout({"work": WORK, "unread": 1})
        self.waiting = FifoParams(shape=entry, depth=params.descriptors)
        self.beat_latency = self.waiting.latency
        super().__init__(
            params,
            ring=In(RING),
            close=In(1),
            flush=In(1),
            requests=Out(stream.Signature(params.reads.cutter.request)),
            beats=In(stream.Signature(params.reads.beat)),
            work=Out(stream.Signature(WORK)),
            consumer=Out(INDEX_BITS),
            awaited=Out(1),
            owes=Out(1),
            busy=Out(1),
            fault=Out(Fault),
            cause=Out(Cause),
            events=Out(EVENTS),
        )

    def build(self, m: Module) -> None:
        m.submodules.reader = reader = RingReader.sized(
            address_bits=64, ahead=self.params.descriptors
        )
        m.submodules.waiting = waiting = Fifo(self.waiting)
        coming = Signal(range(self.params.descriptors + 1))  # those that are awaited
        comes, stopped = Signal(), Signal()
        shut, was_shut = Signal(), Signal()  # by ``close``, until the host disables the ring
        m.d.sync += was_shut.eq(self.ring.enable & shut)
        m.d.comb += [
            reader.ring.eq(self.ring),
            shut.eq(self.close | was_shut),
            reader.ring.enable.eq(self.ring.enable & ~shut),
            reader.hold.eq(shut | stopped),
            reader.left.eq(waiting.o.valid & waiting.o.ready),
            *forward(
                reader.demands,
                self.requests,
                address=reader.demands.payload,
                bytes=DESCRIPTOR_BYTES,
            ),
            stopped.eq(self.cause != Cause.NONE),
            self.awaited.eq(reader.demands.valid | coming.any()),
            self.owes.eq(self.awaited | waiting.o.valid),
            self.busy.eq(reader.busy),
            self.fault.eq(reader.fault),
            comes.eq(Mux(self.flush, coming.any(), self.beats.valid & self.beats.payload.last)),
        ]
        m.d.sync += coming.eq(coming + (reader.demands.valid & reader.demands.ready) - comes)
        unread = self.receive(m, waiting, comes, stopped)
        self.report(m, reader, comes, unread, shut)

    def receive(self, m: Module, waiting: Fifo, comes: Signal, stopped: Signal) -> Value:
        """Queue descriptors as they come; return whether the one that comes must be dropped."""
        provided = self.beats.payload
        bits = provided.data
        if len(bits) < DESCRIPTOR.size:  # a descriptor comes in two beats
            first = Signal.like(bits, reset_less=True)
            with m.If(self.beats.valid):
                m.d.sync += first.eq(bits)
            bits = Cat(first, bits)
        descriptor, entering, oldest = DESCRIPTOR(bits), waiting.i.payload, waiting.o.payload
        fields = [(name, field.width) for name, field in WORK if name != "malformed"]
        above = [descriptor[name][width:] for name, width in fields]
        unread = self.flush | stopped | (provided.cause != Cause.NONE)
        m.d.comb += [
            self.beats.ready.eq(1),
            *(entering.work[name].eq(descriptor[name][:width]) for name, width in fields),
            entering.work.malformed.eq(Cat(*above, descriptor.reserved).any()),
            entering.unread.eq(unread),
            waiting.i.valid.eq(comes),
            self.work.payload.eq(oldest.work),
            self.work.valid.eq(waiting.o.valid & ~oldest.unread),
            waiting.o.ready.eq(self.work.ready | oldest.unread),
            self.events.malformed.eq(comes & ~unread & entering.work.malformed),
        ]
        return unread

    def report(
        self, m: Module, reader: RingReader, comes: Signal, unread: Value, shut: Signal
    ) -> None:
        """Count the descriptors that were read, and say why the ring has stopped."""
        at_fault = Signal()  # whether the ring had a fault a cycle ago
        fails = comes & unread & ~self.flush & (self.cause == Cause.NONE)
        m.d.comb += [
            self.events.read.eq(comes & ~unread),
            self.events.unread.eq(fails & ~shut),
            self.events.fault.eq((reader.fault != Fault.NONE) & ~at_fault),
        ]
        m.d.sync += [
            at_fault.eq(reader.fault != Fault.NONE),
            self.consumer.eq(self.consumer + self.events.read),
        ]
        with m.If(fails):
            m.d.sync += self.cause.eq(self.beats.payload.cause)
        with m.If(~reader.busy):
            m.d.sync += self.cause.eq(Cause.NONE)
            with m.If(reader.ring.enable):
                m.d.sync += self.consumer.eq(0)
