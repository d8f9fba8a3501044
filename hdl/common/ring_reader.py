"""Asks for the descriptors of a ring in host memory, one after the other."""

from amaranth.hdl import Module, Signal
from amaranth.lib import enum, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.params import Params, whole
from hdl.common.rings import DESCRIPTOR_BYTES, INDEX_BITS, RING, Fault, misplaced

OFFSET_BITS = DESCRIPTOR_BYTES.bit_length() - 1


class RingReaderParams(Params, suffix="{address_bits}x{ahead}"):
    """Sets where rings can be, and how far they are read ahead."""

    address_bits: int = whole(16, 64)  #: width of a byte address in host memory
    ahead: int = whole(2, 64)  #: most descriptors that were asked for and have not left


class Phase(enum.Enum, shape=2):
    """Names the reader's steps towards the next descriptor."""

    CLOSED = 0  #: the ring is not enabled
    LOOK = 1  #: compares the number that the host has written with the number asked for
    JUDGE = 2  #: decides whether to ask for a descriptor, and whether there is a fault
    ISSUE = 3  #: offers the address of a descriptor


class RingReader(Component):
    """Asks for the descriptors of ``ring``: ``demands`` has their addresses, in their order.

    The host writes descriptors, then their number to ``ring.index`` (the doorbell). The user of
    this component sets ``arrived`` for a cycle when a descriptor has come, and ``left`` for a cycle
    when the descriptor has made room for another one. At most ``params.ahead`` descriptors are
    between ``demands`` and ``left``. ``consumer`` is the number of descriptors that have arrived;
    the host may overwrite their places. After a ``fault`` no more descriptors are asked for, and
    the first fault stays. None is asked for while ``hold`` is high, from the next cycle on, except
    one whose address ``demands`` offers already.

    When ``ring.enable`` falls no more descriptors are asked for, and ``busy`` stays high until all
    that were asked for have left. A cycle later the indices are zero, and the ring may be enabled
    again.

    Throughput: a descriptor every 3 or 4 cycles. Latency: :attr:`latency` cycles from the doorbell
    to ``demands``.
    """

    latency = 3

    def __init__(self, params: RingReaderParams) -> None:
        super().__init__(
            params,
            ring=In(RING),
            hold=In(1),
            demands=Out(stream.Signature(params.address_bits)),
            arrived=In(1),
            left=In(1),
            consumer=Out(INDEX_BITS),
            busy=Out(1),
            fault=Out(Fault),
        )

    def build(self, m: Module) -> None:
        ring, bits = self.ring, self.params.address_bits
        phase = Signal(Phase)
        requested = Signal(INDEX_BITS)
        ahead = Signal(INDEX_BITS)  # descriptors that the host has written, not asked for yet
        mask = Signal(INDEX_BITS)  # bits of an index that are its place in the ring
        held = Signal(range(self.params.ahead + 1))  # descriptors asked for that have not left
        place = Signal(INDEX_BITS + OFFSET_BITS)
        far = Signal()
        m.d.comb += [
            place.eq((requested & mask) << OFFSET_BITS),
            far.eq(ahead.any() & ((ahead - 1)[:INDEX_BITS] & ~mask).any()),
            self.demands.valid.eq(phase == Phase.ISSUE),
            self.demands.payload.eq((ring.address | place)[:bits]),
            self.busy.eq((phase != Phase.CLOSED) | held.any()),
        ]
        m.d.sync += [
            ahead.eq(ring.index - requested),
            held.eq(held + (self.demands.valid & self.demands.ready) - self.left),
            self.consumer.eq(self.consumer + self.arrived),
        ]
        with m.Switch(phase):
            with m.Case(Phase.CLOSED):
                m.d.sync += mask.eq((1 << ring.size) - 1)
                with m.If(~held.any()):
                    m.d.sync += [requested.eq(0), self.consumer.eq(0)]
                    with m.If(ring.enable):
                        m.d.sync += phase.eq(Phase.LOOK)
            with m.Case(Phase.LOOK):
                m.d.sync += phase.eq(Phase.JUDGE)
                with m.If(~ring.enable):
                    m.d.sync += [phase.eq(Phase.CLOSED), self.fault.eq(Fault.NONE)]
            with m.Case(Phase.JUDGE):
                m.d.sync += phase.eq(Phase.LOOK)
                with m.If(self.fault == Fault.NONE):
                    with m.If(misplaced(ring.address, mask, DESCRIPTOR_BYTES, bits)):
                        m.d.sync += self.fault.eq(Fault.ADDRESS)
                    with m.Elif(far):
                        m.d.sync += self.fault.eq(Fault.OVERRUN)
                    with m.Elif(ahead.any() & (held != self.params.ahead) & ~self.hold):
                        m.d.sync += phase.eq(Phase.ISSUE)
            with m.Case(Phase.ISSUE), m.If(self.demands.ready):
                m.d.sync += [phase.eq(Phase.LOOK), requested.eq(requested + 1)]
