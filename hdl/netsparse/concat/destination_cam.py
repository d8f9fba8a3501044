"""Finds the queue of a destination by a CAM over active destinations."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.common.round_robin import lowest
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams


class DestinationCam(Component):
    """Finds the queue of ``dest`` and ``error`` in the virtual form: NetSparse, section 7.2.

    A queue belongs to a destination while its packet is ``open`` or a PR is on its way to it:
    ``read`` and ``decided`` are the queues of those beats, one bit each. ``chosen`` is the queue
    that belongs to the destination, or else a free one, which ``takes`` assigns to it. ``result``
    is low while no queue is free, even for a destination that has one, so that it depends only on a
    register. Latency: none; a queue that becomes free can be assigned two cycles later.
    """

    latency = 0

    def __init__(self, params: ConcatenatorParams) -> None:
        super().__init__(
            params,
            dest=In(params.node_bits),
            error=In(1),
            takes=In(1),
            chosen=Out(params.queue_bits),
            result=Out(1),
            open=In(params.queues),
            read=In(params.queues),
            decided=In(params.queues),
        )

    def build(self, m: Module) -> None:
        params = self.params
        held = Signal(params.queues)
        hits = Signal(params.queues)
        hit = Signal()
        expected = Cat(self.dest, self.error)
        spare = Signal(params.queues)  # a free queue, one bit or none
        other = Signal(params.queues)  # another free queue, one bit or none
        m.d.comb += [
            held.eq(self.open | self.read | self.decided),
            hit.eq(hits.any()),
            other.eq(lowest(~(held | spare))),
            self.chosen.eq(Mux(hit, index_of(hits), index_of(spare))),
        ]
        for k in range(params.queues):
            tag = Signal(len(expected), name=f"tag_{k}", reset_less=True)
            m.d.comb += hits[k].eq(held[k] & (tag == expected))
            with m.If(spare[k]):  # also if the queue is not taken
                m.d.sync += tag.eq(expected)
        with m.If((self.takes & ~hit) | ~self.result):
            m.d.sync += [self.result.eq(other.any()), spare.eq(other)]
