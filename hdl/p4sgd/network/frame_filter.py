"""What comes from the MAC: one frame a beat, judged as far as a frame can be by itself."""

from amaranth.hdl import Module, Signal
from amaranth.lib import enum
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.p4sgd.network.frame import ETHERTYPE_ON_WIRE, FRAME_KEEP, VERSION, Frame

HEADER_BYTES = 15  #: of a frame that can be told to be ours: addresses, ethertype, version


class Quality(enum.Enum, shape=2):
    """Whether a frame is one of P4SGD's; the first that applies, from below."""

    GOOD = 0
    MALFORMED = 1  #: not 60 bytes long, or with bits set that are zero
    FOREIGN = 2  #: another destination, ethertype or version
    CORRUPT = 3  #: its checksum is wrong


class FrameFilter(Component):
    """Takes every beat of ``axis`` and reports every packet once: ``valid`` is high for a cycle.

    ``frame`` is the packet's first beat. Packets of several beats are malformed, or foreign where
    their first beat is; they are reported with their last beat. ``address`` is the destination
    that is ours. A packet shorter than its header is malformed. A reset may come in the middle of
    a packet that goes on behind it: what is left of it counts as its end, never as a packet of its
    own, and if it does not go on, the next packet is malformed.

    Throughput: a beat a cycle, ``axis.tready`` is always high, as a MAC cannot wait. Latency:
    :attr:`latency`.
    """

    latency = 1

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            {
                "axis": In(AXIS),
                "address": In(48),
                "valid": Out(1),
                "quality": Out(Quality),
                "frame": Out(Frame),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        axis = self.axis
        frame = Signal(Frame)
        inside = Signal(reset_less=True)
        foreign_before = Signal(reset_less=True)
        short_before = Signal(reset_less=True)
        foreign = Signal()
        short = Signal()
        malformed = Signal()
        m.d.comb += [
            axis.tready.eq(1),
            frame.eq(axis.tdata[: Frame.as_shape().size]),
            short.eq(~axis.tkeep[HEADER_BYTES - 1]),
            foreign.eq(
                (frame.destination != self.address)
                | (frame.ethertype != ETHERTYPE_ON_WIRE)
                | (frame.version != VERSION)
            ),
            malformed.eq(inside | (axis.tkeep != FRAME_KEEP) | (frame.no_flags != 0)),
        ]
        with m.If(inside):
            m.d.comb += [foreign.eq(foreign_before), short.eq(short_before)]
        with m.If(axis.tvalid):
            m.d.sync += [
                inside.eq(~axis.tlast),
                foreign_before.eq(foreign),
                short_before.eq(short),
            ]
            with m.If(~inside):
                m.d.sync += self.frame.eq(frame)
        m.d.sync += self.valid.eq(axis.tvalid & axis.tlast)
        with m.If(axis.tuser):
            m.d.sync += self.quality.eq(Quality.CORRUPT)
        with m.Elif(foreign & ~short):
            m.d.sync += self.quality.eq(Quality.FOREIGN)
        with m.Elif(malformed):
            m.d.sync += self.quality.eq(Quality.MALFORMED)
        with m.Else():
            m.d.sync += self.quality.eq(Quality.GOOD)
        return m
