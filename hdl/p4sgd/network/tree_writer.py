"""Builds the frames that a switch of a tree sends: down to its children, or up to its parent."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.network.frame import LANES, Frame
from hdl.p4sgd.network.tree_frame import MORE_BYTES, TREE_ANSWER

LOW_BITS = 32  #: number of a sum's low bits, which have the place of an activation


class TreeWriter(Component):
    """Builds a ``frame`` from ``answer``: to children, or, if it is ``up``, to the parent.

    The format is :class:`hdl.p4sgd.network.tree_format.TreeFormat`. ``around`` has the addresses
    and constants of a switch's frames. The parent has the address ``above``, and knows the switch
    by the bit ``place``. A sum that goes up makes a ``longer`` frame, with further bytes in
    ``more``, which is zero otherwise. The answer that goes down together with such a sum is
    pending, and has no sum.

    Latency: none.
    """

    latency = 0

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            answer=In(TREE_ANSWER),
            around=In(Frame),
            above=In(48),
            place=In(32),
            frame=Out(Frame),
            more=Out(8 * MORE_BYTES),
            longer=Out(1),
        )

    def build(self, m: Module) -> None:
        answer, around, frame = self.answer, self.around, self.frame
        up = answer.up
        high = Cat(lane[LOW_BITS:] for lane in answer.payload)
        empty = answer.acked & ~up
        pairs = zip(frame.payload, answer.payload, strict=True)
        m.d.comb += [
            frame.destination.eq(Mux(up, self.above, around.destination)),
            *(frame[name].eq(around[name]) for name in ("source", "ethertype", "version")),
            *(frame[name].eq(answer[name]) for name in ("job", "epoch", "seq", "use")),
            frame.is_agg.eq(Mux(up, answer.partial, answer.is_agg)),
            frame.acked.eq(empty),
            frame.bm.eq(Mux(up, self.place, answer.bm)),
            frame.saturated.eq(Mux(up, high[:LANES], answer.saturated)),
            *(low.eq(Mux(empty, 0, lane[:LOW_BITS])) for low, lane in pairs),
            self.more.eq(Mux(up, high[LANES:], 0)),
            self.longer.eq(up & answer.partial),
        ]
