"""Asks for the descriptors of a ring in host memory, one by one."""

from dataclasses import dataclass

from amaranth.hdl import Module, Signal
from amaranth.lib import enum, stream
from amaranth.lib.wiring import In, Out

from hdl.common.checks import check_range
from hdl.common.component import Component
from hdl.common.rings import DESCRIPTOR_BYTES, INDEX_BITS, RING, Fault, misplaced

OFFSET_BITS = DESCRIPTOR_BYTES.bit_length() - 1


@dataclass(frozen=True, kw_only=True)
class RingReaderParams:
    """Sets where rings can be, and how far they are read ahead."""

    address_bits: int  #: width of a byte address in host memory, 16..64
    ahead: int  #: descriptors that are asked for and have not left, at most, 2..64

    def __post_init__(self) -> None:
        check_range("address_bits", self.address_bits, 16, 64)
        check_range("ahead", self.ahead, 2, 64)

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: all sizes."""
        return f"{self.address_bits}x{self.ahead}"


class Phase(enum.Enum, shape=2):
    """Names what happens about the next descriptor."""

    CLOSED = 0  #: the ring is not enabled
    LOOK = 1  #: how many descriptors the host has written is compared with how many were asked for
    JUDGE = 2  #: there is one, and room for it, or not; or the host's index is wrong
    ASK = 3


class RingReader(Component):
    """``asks`` for the descriptors of ``ring``, by their addresses, in their order.

    The host writes descriptors, then their number to ``ring.index`` (the doorbell). One that comes
    has ``arrived`` for a cycle, and ``left`` for a cycle when whoever keeps it has room for another
    one; at most ``params.ahead`` are between ``asks`` and ``left``. ``consumer`` is how many have
    arrived: the host may write their places again. With a ``fault``, which is the first one,
    nothing more is asked for; nor from the cycle behind ``hold`` on, but for what ``asks`` says
    already.

    When ``ring.enable`` falls nothing more is asked for, and ``busy`` stays high until all that
    were have left; a cycle later indices are zero, and the ring may be enabled again.

    Throughput: a descriptor every 3 or 4 cycles. Latency: :attr:`latency` cycles from the doorbell
    to ``asks``.
    """

    latency = 3

    def __init__(self, params: RingReaderParams) -> None:
        super().__init__(
            params,
            {
                "ring": In(RING),
                "hold": In(1),
                "asks": Out(stream.Signature(params.address_bits)),
                "arrived": In(1),
                "left": In(1),
                "consumer": Out(INDEX_BITS),
                "busy": Out(1),
                "fault": Out(Fault),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        ring, bits = self.ring, self.params.address_bits
        phase = Signal(Phase)
        asked = Signal(INDEX_BITS)
        ahead = Signal(INDEX_BITS)  # descriptors that the host has written and nobody asked for
        mask = Signal(INDEX_BITS)  # of an index: its place in the ring
        held = Signal(range(self.params.ahead + 1))  # asked for, and have not left
        place = Signal(INDEX_BITS + OFFSET_BITS)
        far = Signal()
        m.d.comb += [
            place.eq((asked & mask) << OFFSET_BITS),
            far.eq(ahead.any() & ((ahead - 1)[:INDEX_BITS] & ~mask).any()),
            self.asks.valid.eq(phase == Phase.ASK),
            self.asks.payload.eq((ring.address | place)[:bits]),
            self.busy.eq((phase != Phase.CLOSED) | held.any()),
        ]
        m.d.sync += [
            ahead.eq(ring.index - asked),
            held.eq(held + (self.asks.valid & self.asks.ready) - self.left),
            self.consumer.eq(self.consumer + self.arrived),
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
                    with m.If(misplaced(ring.address, mask, DESCRIPTOR_BYTES, bits)):
                        m.d.sync += self.fault.eq(Fault.ADDRESS)
                    with m.Elif(far):
                        m.d.sync += self.fault.eq(Fault.OVERRUN)
                    with m.Elif(ahead.any() & (held != self.params.ahead) & ~self.hold):
                        m.d.sync += phase.eq(Phase.ASK)
            with m.Case(Phase.ASK), m.If(self.asks.ready):
                m.d.sync += [phase.eq(Phase.LOOK), asked.eq(asked + 1)]
        return m
