"""Reads work requests from a ring in host memory."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import enum, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.netsparse.protocol import LENGTH_BITS
from hdl.netsparse.queue.params import (
    DESCRIPTOR,
    DESCRIPTOR_BYTES,
    INDEX_BITS,
    RING,
    Fault,
    Verdict,
    fetched_layout,
    misplaced,
)
from hdl.netsparse.rig.params import READ_BEAT, RigParams

AHEAD = 8  #: descriptors that have been asked for and not yet been taken
OFFSET_BITS = DESCRIPTOR_BYTES.bit_length() - 1


class Phase(enum.Enum, shape=2):
    """Names what happens about the next descriptor."""

    CLOSED = 0  #: the ring is not enabled
    LOOK = 1  #: how many descriptors the host has written is compared with how many were asked for
    JUDGE = 2  #: there is one, and room for it, or not; or the host's index is wrong
    ASK = 3


class DescriptorFetch(Component):
    """Reads descriptors of ``ring``, which leave ``o`` in their order (NetSparse, section 5.4).

    The host writes descriptors, then their number to ``ring.index`` (the doorbell). They are read
    one host access each, at most :data:`AHEAD` ahead of ``o``, so that there is always room for
    ``beat``. ``consumer`` is how many were read: the host may write their places again. With a
    ``fault``, which is the first one, nothing more is asked for.

    When ``ring.enable`` falls nothing more is asked for; what was asked for leaves ``o`` as ever.
    ``busy`` until then; a cycle later indices are zero, and the ring may be enabled again.

    Throughput: a descriptor every 4 cycles while 8 reads cover the latency of host memory.
    Latency: :attr:`latency` cycles from the doorbell to ``asks``, :attr:`beat_latency` from the
    beat to ``o``. Stalls: while ``o`` is not taken, 8 descriptors wait.
    """

    latency = 3
    beat_latency = 2

    def __init__(self, params: RigParams) -> None:
        super().__init__(
            params,
            {
                "ring": In(RING),
                "asks": Out(stream.Signature(params.host_read)),
                "beat_valid": In(1),
                "beat": In(READ_BEAT),
                "o": Out(stream.Signature(fetched_layout(params))),
                "consumer": Out(INDEX_BITS),
                "busy": Out(1),
                "fault": Out(Fault),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        ring = self.ring
        phase = Signal(Phase)
        asked = Signal(INDEX_BITS)
        ahead = Signal(INDEX_BITS)  # descriptors that the host has written and nobody asked for
        mask = Signal(INDEX_BITS)  # of an index: its place in the ring
        held = Signal(range(AHEAD + 1))  # asked for, and not yet taken from o
        place = Signal(INDEX_BITS + OFFSET_BITS)
        far = Signal()
        m.d.comb += [
            place.eq((asked & mask) << OFFSET_BITS),
            far.eq(ahead.any() & ((ahead - 1)[:INDEX_BITS] & ~mask).any()),
            self.asks.valid.eq(phase == Phase.ASK),
            self.asks.payload.address.eq((ring.address | place)[: self.params.address_bits]),
            self.asks.payload.bytes.eq(DESCRIPTOR_BYTES),
            self.busy.eq((phase != Phase.CLOSED) | held.any()),
        ]
        m.d.sync += [
            ahead.eq(ring.index - asked),
            held.eq(held + (self.asks.valid & self.asks.ready) - (self.o.valid & self.o.ready)),
            self.consumer.eq(self.consumer + self.beat_valid),
        ]
        with m.Switch(phase):
            with m.Case(Phase.CLOSED):
                m.d.sync += mask.eq((1 << ring.size) - 1)
                with m.If(~held.any()):
                    m.d.sync += [asked.eq(0), self.consumer.eq(0)]
                    with m.If(ring.enable):
                        m.d.sync += phase.eq(Phase.LOOK)
            with m.Case(Phase.LOOK):
                m.d.sync += phase.eq(Phase.JUDGE)
                with m.If(~ring.enable):
                    m.d.sync += [phase.eq(Phase.CLOSED), self.fault.eq(Fault.NONE)]
            with m.Case(Phase.JUDGE):
                m.d.sync += phase.eq(Phase.LOOK)
                with m.If(self.fault == Fault.NONE):
                    with m.If(
                        misplaced(ring.address, mask, DESCRIPTOR_BYTES, self.params.address_bits)
                    ):
                        m.d.sync += self.fault.eq(Fault.ADDRESS)
                    with m.Elif(far):
                        m.d.sync += self.fault.eq(Fault.OVERRUN)
                    with m.Elif(ahead.any() & (held != AHEAD)):
                        m.d.sync += phase.eq(Phase.ASK)
            with m.Case(Phase.ASK), m.If(self.asks.ready):
                m.d.sync += [phase.eq(Phase.LOOK), asked.eq(asked + 1)]
        self.receive(m)
        return m

    def receive(self, m: Module) -> None:
        """Judge descriptors as they come, and let them wait."""
        layout = fetched_layout(self.params)
        m.submodules.waiting = waiting = Fifo(FifoParams(width=layout.size, depth=AHEAD))
        descriptor = DESCRIPTOR(self.beat.data)
        fetched = Signal(layout, reset_less=True)
        arrived = Signal()
        too_large = [
            descriptor.wide[1:].any(),
            descriptor.reserved.any(),
            descriptor.property_bytes[LENGTH_BITS:].any(),
        ]
        m.d.sync += [
            arrived.eq(self.beat_valid),
            fetched.verdict.eq(Mux(Cat(too_large).any(), Verdict.ILLEGAL, Verdict.LEGAL)),
            fetched.unit.eq(descriptor.unit),
            *(
                fetched.request[name].eq(descriptor[name][: field.width])
                for name, field in self.params.request
            ),
        ]
        with m.If(self.beat.failed):
            m.d.sync += [
                fetched.verdict.eq(Verdict.UNREAD),
                fetched.request.tag.eq(self.consumer),
            ]
        m.d.comb += [
            waiting.i.valid.eq(arrived),
            waiting.i.payload.eq(fetched),
            self.o.valid.eq(waiting.o.valid),
            self.o.payload.eq(waiting.o.payload),
            waiting.o.ready.eq(self.o.ready),
        ]
