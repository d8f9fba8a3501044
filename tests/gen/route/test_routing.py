"""Routes components of a few registers, and compares the results with what is known of them."""

from functools import partial

import pytest
from amaranth.hdl import Signal
from amaranth.lib.wiring import In, Out

from gen.base.emission.emit import emit
from gen.base.errors import UserError
from gen.route import routing
from gen.route.leaves import LEAVES, component_of
from gen.route.report import speeds
from gen.route.routing import route
from gen.route.wrapper import wrapper
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.common.params import Params
from sim.harness.cache import cached_folder
from sim.harness.emissions import emission_of


class ChainParams(Params, suffix="{length}x{bits}"):
    length: int = 1  #: additions one behind the other
    bits: int = 8  #: width of a number


class Chain(Component):
    """Multiplies by xor and addition, again and again, in one cycle."""

    def __init__(self, params):
        super().__init__(params, first=In(params.bits), last=Out(params.bits))

    def build(self, m):
        value = self.first
        for k in range(self.params.length):
            step = Signal(self.params.bits, name=f"step_{k}")
            total = (value ^ value.rotate_left(1)) + value.rotate_left(3)
            m.d.comb += step.eq(total[: self.params.bits])
            value = step
        m.d.comb += self.last.eq(value)


class TwoClocks(Component):
    """Has a slow path in one clock and none in the other."""

    domains = ("fast", "slow")

    def __init__(self, params):
        bits = params.bits
        super().__init__(
            params, {f"{n}_{k}": (In, Out)[k](bits) for n in self.domains for k in (0, 1)}
        )

    def build(self, m):
        m.submodules.chain = chain = Chain(self.params)
        stored, slow = Signal(self.params.bits), Signal(self.params.bits)
        m.d.fast += stored.eq(self.fast_0)
        m.d.slow += slow.eq(self.slow_0)
        end = Signal(self.params.bits)
        m.d.slow += end.eq(chain.last)
        m.d.comb += [chain.first.eq(slow), self.fast_1.eq(stored), self.slow_1.eq(end)]


def routed(component):
    return route(emit(component), cached_folder)


def test_a_longer_path_is_slower():
    short, long = (routed(Chain(ChainParams(length=length))) for length in (1, 6))
    assert short.mhz["clk"] > 2 * long.mhz["clk"]
    assert long.levels > 4 * short.levels
    assert (short.ffs, short.rams, short.dsps) == (0, 0, 0)
    assert 8 <= short.luts < long.luts
    assert long.path == "first to last"
    assert speeds(short) == f"{short.mhz['clk']:.0f}"


def test_each_clock_has_its_own_paths():
    result = routed(TwoClocks(ChainParams(length=5)))
    assert set(result.mhz) == {"fast_clk", "slow_clk"}
    assert result.mhz["fast_clk"] > 2 * result.mhz["slow_clk"]
    assert "slow" in result.path
    assert result.ffs == 3 * 8
    assert speeds(result).startswith("fast_clk ")


def test_what_does_not_fit_is_one_line(monkeypatch):
    monkeypatch.setattr(routing, "OPTIONS", ("--25k", "--package", "CABGA256"))
    says = r"^dual_port_memory_1024x1152 was not routed on an LFE5U-85F.*; nextpnr says: .+$"
    with pytest.raises(UserError, match=says):
        routed(DualPortMemory.sized(shape=1152, depth=1024))


def test_pins_are_few():
    module = emit(Chain(ChainParams())).top
    text = wrapper(module, {})
    assert text.startswith("module routed(input clk, input rst, input shift);")
    assert text.count("always @(posedge clk)") == 2


@pytest.mark.parametrize("name", ["adder-tree", "pending-row"])
def test_leaves_are_there(name):
    emitted = partial(emission_of, generated=True)  # as other tests have emitted it
    assert type(component_of(name, emitted)).__name__ == LEAVES[name].kind


def test_a_module_of_a_design():
    module = "fifo_64x16_distributed"
    with pytest.raises(UserError, match=f"module '{module}'"):
        component_of(f"p4sgd-switch/{module}", emit)
    with pytest.raises(UserError, match=r"component 'skid'.*skid-buffer"):
        component_of("skid", emit)
