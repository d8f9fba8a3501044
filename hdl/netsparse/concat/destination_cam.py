"""Finds the queue of a destination: its own index, or what a CAM over active destinations says."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.common.round_robin import lowest
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams


class DestinationCam(Component):
    """Finds the queue of ``dest`` and ``error`` in the virtual form: NetSparse, section 7.2.

    A queue is held while its packet is ``open`` or a PR is on its way to it: ``read`` and
    ``decided`` are the queues of those beats, one bit each. The queue that is held for the
    destination is ``chosen``, or else a free one, which ``takes`` gives to it. ``found`` is low
    while none is free, even for a destination that has one: so it depends on a register alone.
    Latency: none; a queue that becomes free is given away two cycles later.
    """

    latency = 0

    def __init__(self, params: ConcatenatorParams) -> None:
        super().__init__(
            params,
            {
                "dest": In(params.node_bits),
                "error": In(1),
                "takes": In(1),
                "chosen": Out(params.queue_bits),
                "found": Out(1),
                "open": In(params.queues),
                "read": In(params.queues),
                "decided": In(params.queues),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        held = Signal(params.queues)
        hits = Signal(params.queues)
        hit = Signal()
        wanted = Cat(self.dest, self.error)
        spare = Signal(params.queues)  # a free queue, one bit or none
        other = Signal(params.queues)  # that is free, or none
        m.d.comb += [
            held.eq(self.open | self.read | self.decided),
            hit.eq(hits.any()),
            other.eq(lowest(~(held | spare))),
            self.chosen.eq(Mux(hit, index_of(hits), index_of(spare))),
        ]
        for k in range(params.queues):
            tag = Signal(len(wanted), name=f"tag_{k}", reset_less=True)
            m.d.comb += hits[k].eq(held[k] & (tag == wanted))
            with m.If(spare[k]):  # whether it is given or not
                m.d.sync += tag.eq(wanted)
        with m.If((self.takes & ~hit) | ~self.found):
            m.d.sync += [self.found.eq(other.any()), spare.eq(other)]
        return m
