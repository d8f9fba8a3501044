"""Decodes a frame that a switch of a tree receives: exact sums, and who may have sent it."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.network.frame import LANES, Frame
from hdl.p4sgd.network.tree_frame import LEVEL_BITS, MORE_BYTES, TREE_FIELDS
from hdl.switch.frame_format import copied


class TreeReader(Component):
    """Decodes a ``frame``; a ``longer`` frame has its further bytes in ``more``.

    The activations of a short frame become sums of the same value
    (:class:`hdl.p4sgd.network.tree_format.TreeFormat`).

    A child may send a partial activation, in a frame of either length, or an acknowledgement. A
    parent may send a full activation, pending or acked. Only a full activation has ``saturated``
    bits.

    Latency: none.
    """

    latency = 0

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            frame=In(Frame),
            longer=In(1),
            more=In(8 * MORE_BYTES),
            fields=Out(TREE_FIELDS),
        )

    def build(self, m: Module) -> None:
        frame, fields, long = self.frame, self.fields, self.longer
        high = Cat(frame.saturated, self.more)
        is_sum = frame.is_agg & ~frame.acked
        clean = frame.saturated == 0
        up = ~frame.acked & Mux(long, frame.is_agg, clean)
        down = ~long & (is_sum | (frame.acked & clean))
        m.d.comb += [
            *copied(fields, frame),
            fields.longer.eq(long),
            fields.up.eq(up),
            fields.down.eq(down),
            fields.neither.eq(~up & ~down),
        ]
        for k in range(LANES):
            low = frame.payload[k]
            sign = low[-1].replicate(LEVEL_BITS)
            wide = Cat(low, Mux(long, high.word_select(k, LEVEL_BITS), sign))
            m.d.comb += fields.payload[k].eq(wide.as_signed())
