"""Sends partial activations to the network and takes full ones, or joins both directly."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.p4sgd.engine.params import EngineParams


class NetworkJoin(Component):
    """Sends ``sums`` to ``partial`` and takes ``activations`` from ``full`` (P4SGD, section 4.1.3).

    With ``join``, for a single worker, ``activations`` are ``sums`` and the network is idle.
    ``join`` must be stable during a run. Latency: none. Throughput: one micro-batch a cycle.
    """

    def __init__(self, params: EngineParams) -> None:
        activations = stream.Signature(params.activations)
        super().__init__(
            params,
            join=In(1),
            sums=In(activations),
            partial=Out(activations),
            full=In(activations),
            activations=Out(activations),
        )

    def build(self, m: Module) -> None:
        m.d.comb += self.partial.payload.eq(self.sums.payload)
        with m.If(self.join):
            connect(m, flipped(self.sums), flipped(self.activations))
        with m.Else():
            connect(m, flipped(self.full), flipped(self.activations))
            m.d.comb += [
                self.partial.valid.eq(self.sums.valid),
                self.sums.ready.eq(self.partial.ready),
            ]
