"""Carries out a reset that the shell requests by a reset pair."""

from amaranth.hdl import Module, Signal
from amaranth.lib import enum
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component

#: Most cycles of 8 ns for which packets to the shell may end: longer than the 151 beats of its
#: longest packet, shorter than the 100 cycles for which it resets its own parts, so that nothing of
#: an old packet reaches a part that was reset together with the plugin.
DRAIN_CYCLES = 96
RESET_CYCLES = 32  #: cycles of reset, long enough for all parts and both clocks


class State(enum.Enum, shape=2):
    """Names the steps of a reset."""

    RESETS, RUNS, DRAINS = range(3)


class ModuleReset(Component):
    """Answers ``mod_rstn``, of which a low cycle requests a reset, by ``mod_rst_done``.

    ``mod_rst_done`` falls with ``mod_rstn`` and rises when the reset is over. At first ``hold`` is
    high, so that no packet to the shell begins, until ``idle`` says that none is under way, for at
    most DRAIN_CYCLES. Then ``reset`` is high for RESET_CYCLES, and for as long as ``mod_rstn`` is
    low. A plugin begins with a reset. The shell takes a rising ``mod_rst_done`` for the end of the
    reset that it requested last (``src/system_config/system_config_register.v``).
    """

    def __init__(self, params: None = None) -> None:
        ports = {"mod_rstn": In(1), "idle": In(1)}
        ports |= dict.fromkeys(("mod_rst_done", "hold", "reset"), Out(1))
        super().__init__(params, ports)

    def build(self, m: Module) -> None:
        state = Signal(State)
        left = Signal(range(DRAIN_CYCLES), init=RESET_CYCLES - 1)
        reset = Signal(init=1)
        done, hold = Signal(), Signal()
        m.d.comb += [
            self.mod_rst_done.eq(done & self.mod_rstn),
            self.hold.eq(hold),
            self.reset.eq(reset),
        ]
        with m.If(left.any()):
            m.d.sync += left.eq((left - 1)[: len(left)])
        with m.Switch(state):
            with m.Case(State.RUNS), m.If(~self.mod_rstn):
                m.d.sync += [
                    state.eq(State.DRAINS),
                    left.eq(DRAIN_CYCLES - 1),
                    done.eq(0),
                    hold.eq(1),
                ]
            with m.Case(State.DRAINS), m.If(self.idle | ~left.any()):
                m.d.sync += [state.eq(State.RESETS), left.eq(RESET_CYCLES - 1), reset.eq(1)]
            with m.Default(), m.If(~left.any() & self.mod_rstn):
                m.d.sync += [state.eq(State.RUNS), reset.eq(0), hold.eq(0), done.eq(1)]
