"""Which queue a destination has: its own index, or what a CAM over active destinations says."""

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
    destination is found, or else a free one, which ``takes`` gives to it. ``found`` is low while
    there is neither. Latency: none; a queue that becomes free is given away two cycles later.
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
        wanted = Cat(self.dest, self.error)
        spare = Signal(params.queues)  # a free queue, one bit or none
        spare_queue = Signal(params.queue_bits, reset_less=True)  # its index
        given = Signal(params.queues)
        free = Signal(params.queues)  # the spare one too, unless it is given
        next_spare = Signal(params.queues)
        m.d.comb += [
            held.eq(self.open | self.read | self.decided),
            self.found.eq((hits | spare).any()),
            given.eq(Mux(self.takes & ~hits.any(), spare, 0)),
            free.eq(~held & ~given),
            next_spare.eq(lowest(free)),
            self.chosen.eq(Mux(hits.any(), index_of(hits), spare_queue)),
        ]
        for k in range(params.queues):
            tag = Signal(len(wanted), name=f"tag_{k}", reset_less=True)
            m.d.comb += hits[k].eq(held[k] & (tag == wanted))
            with m.If(given[k]):
                m.d.sync += tag.eq(wanted)
        m.d.sync += [spare.eq(next_spare), spare_queue.eq(index_of(next_spare))]
        return m
