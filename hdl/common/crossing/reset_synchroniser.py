"""Synchronises an asynchronous reset to a clock."""

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Const, Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.crossing.crossing import Crossing
from hdl.common.crossing.synchroniser import ASYNC
from hdl.common.params import Params, whole


class ResetSynchroniserParams(Params, suffix="{stages}"):
    """Sets the number of registers of a reset synchroniser."""

    stages: int = whole(2, 15, default=4)  #: number of registers in a row


class ResetSynchroniser(Component):
    """Raises ``reset`` at the first edge after ``i``, lowers it ``params.stages + 1`` edges after.

    ``i`` comes from registers, or from one gate after registers. It sets the registers ``stages``
    asynchronously, so even a short pulse is not lost; if the clock stands still, the edges with
    ``reset`` come when it runs. The register ``reset`` follows them, without an asynchronous input.
    """

    constraint = "reset_synchroniser"
    keeps_boundary = True
    untimed = ("i",)  #: ports whose signals need no timing

    def __init__(self, params: ResetSynchroniserParams) -> None:
        self.crossings = (
            Crossing(path="", constraint=self.constraint, source="any", target="sync"),
        )
        super().__init__(params, i=In(1), reset=Out(1))

    def build(self, m: Module) -> None:
        count = self.params.stages
        m.domains.caught = caught = ClockDomain("caught", local=True, async_reset=True)
        stages = Signal(count, init=(1 << count) - 1, attrs=ASYNC)
        reset = Signal(init=1, reset_less=True)
        m.d.comb += [caught.clk.eq(ClockSignal()), caught.rst.eq(self.i), self.reset.eq(reset)]
        m.d.caught += stages.eq(Cat(Const(0, 1), stages[:-1]))
        m.d.sync += reset.eq(stages[-1])
