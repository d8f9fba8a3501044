"""Carries wires over a long distance through registers, for wires that cross dies."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.params import whole
from hdl.common.placed_delay import placed_delay
from hdl.common.shaped import ShapedParams


class WirePipelineParams(ShapedParams, suffix="{width}_{stages}"):
    """Sets the shape of what is carried, and the number of registers on the way."""

    stages: int = whole(1, 15, default=2)  #: registers on the way; the last is at the far end


class WirePipeline(Component):
    """Delays ``i`` to ``o`` by ``stages`` cycles, through as many plain registers.

    The registers are called ``wires_1`` (beside ``i``), ``wires_2`` and so on; the last one has the
    name of the port ``o``. They have no reset, so ``i`` may itself be a reset.
    """

    keeps_boundary = True
    out = ("wires",)  #: registers from ``i`` to ``o``
    back = ()  #: registers from ``o`` to ``i``
    far = ()  #: instances beside ``o``

    def __init__(self, params: WirePipelineParams) -> None:
        self.latency = params.stages
        super().__init__(params, i=In(params.shape), o=Out(params.shape))

    def build(self, m: Module) -> None:
        m.d.comb += self.o.eq(placed_delay(m, self.i, self.params.stages, "wires"))

    def registers(self, name: str) -> list[str]:
        """Return the names of the registers of ``name``, in the order of the signal's way."""
        return [*(f"{name}_{k}" for k in range(1, self.params.stages)), "o"]
