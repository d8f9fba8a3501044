"""Implements the fabric of a switch without middle pipes: packets go from port to port."""

from amaranth.hdl import Module

from hdl.common.component import Component
from hdl.common.crossbar import Crossbar, CrossbarParams
from hdl.common.streams import forward
from hdl.netsparse.switch.params import BEAT, CLASSES, NetSparseSwitchParams


class SpineFabric(Component):
    """Sends every packet to its port, in switches between racks (spines).

    Classes have a crossbar each and share nothing. Packets stay whole, and packets from one port to
    another stay in order. A packet whose link is stalled blocks those behind it at its port
    (head-of-line blocking). Throughput: a beat a cycle at every port, of each class.
    :attr:`latencies` are those of a beat of a ``read`` and of a ``response``.
    """

    latencies = dict.fromkeys(("read", "response"), Crossbar.latency)

    def __init__(self, params: NetSparseSwitchParams) -> None:
        super().__init__(params, params.fabric)

    def build(self, m: Module) -> None:
        params = self.params
        sizes = CrossbarParams(
            inputs=params.ports,
            outputs=params.ports,
            shape=BEAT,
            last_bit=BEAT["tlast"].offset,
        )
        for name in CLASSES:
            m.submodules[f"{name}_crossbar"] = crossbar = Crossbar(sizes)
            for come, i in zip(getattr(self, name), crossbar.i, strict=True):
                m.d.comb += forward(come, i, to=come.payload.egress, beat=come.payload.beat)
            for o, axis in zip(crossbar.o, getattr(self, f"{name}_o"), strict=True):
                m.d.comb += [
                    *(getattr(axis, field).eq(o.payload[field]) for field in BEAT.members),
                    axis.tvalid.eq(o.valid),
                    o.ready.eq(axis.tready),
                ]
