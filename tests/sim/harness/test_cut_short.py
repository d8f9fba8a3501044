from dataclasses import dataclass

import cocotb
import pytest
from amaranth.hdl import Signal
from amaranth.lib.wiring import In, Out
from cocotb.triggers import ClockCycles

from hdl.common.component import Component
from sim.harness import cut_short
from sim.harness.streams import start
from sim.harness.verilator import SimulationError, simulate

STEPS = 300


@dataclass(frozen=True, kw_only=True)
class CountParams:
    forgets: bool  #: a reset sets the number to 0

    @property
    def suffix(self):
        return str(int(self.forgets))


class Count(Component):
    """Counts steps."""

    def __init__(self, params):
        super().__init__(params, step=In(1), nothing=In(0), steps=Out(16))

    def build(self, m):
        steps = Signal(16, reset_less=not self.params.forgets)
        m.d.sync += steps.eq(steps + self.step)
        m.d.comb += self.steps.eq(steps)


@cocotb.test()
async def counts(dut):
    assert dut.steps.value == 0  # as at the start of a simulation
    await start(dut)
    assert dut.steps.value == 0
    dut.step.value = 1
    await ClockCycles(dut.clk, STEPS)


def test_a_register_without_a_reset_is_detected(monkeypatch):
    simulate(Count(CountParams(forgets=False)), __name__, seed=1)
    monkeypatch.setattr(cut_short, "TESTED", __name__)
    simulate(Count(CountParams(forgets=True)), __name__, seed=1)
    simulate(Count(CountParams(forgets=True)), __name__, seed=1, test_filter="counts")
    with pytest.raises(SimulationError, match="1 of 3 cocotb tests failed"):
        simulate(Count(CountParams(forgets=False)), __name__, seed=1)


def test_what_outlives_a_reset_is_left_out(monkeypatch):
    monkeypatch.setattr(cut_short, "TESTED", __name__)
    assert cut_short.with_reset(__name__) == ["sim.harness.cut_short", __name__]
    monkeypatch.setitem(globals(), "OUTLIVES_RESET", "it keeps its number")
    assert cut_short.with_reset(__name__) == [__name__]
