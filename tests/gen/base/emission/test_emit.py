"""Tests the emitter: each distinct module once, and the same bytes every time."""

import re

import pytest
from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, ResetSignal
from amaranth.sim import Simulator

from gen.base.emission.emit import Port, emit
from gen.base.emission.lean_rtlil import MOST_INPUT_BITS
from gen.base.errors import UserError
from tests.gen.sample import Leaf, LeafParams, Pair, PairParams


def test_each_distinct_module_once():
    emission = emit(Pair(PairParams()))
    assert list(emission.modules) == ["leaf_4", "leaf_9", "pair"]
    assert re.findall(r"^module (\w+)", emission.verilog, re.M) == list(emission.modules)
    assert emission.counts() == {"leaf_4": 2, "leaf_9": 1, "pair": 1}


def test_like_parts_become_one_module():
    emission = emit(Pair(PairParams(bits=9)))
    assert emission.counts() == {"leaf_9": 3, "pair": 1}


def test_counts_multiply_down_the_hierarchy():
    class Nest(Pair):
        def build(self, m):
            m.submodules.left = left = Pair(self.params)
            m.submodules.right = right = Pair(self.params)
            m.d.comb += [left.x.eq(self.x), right.x.eq(left.y), self.y.eq(right.y)]

    counts = emit(Nest(PairParams())).counts()
    assert counts == {"leaf_4": 4, "leaf_9": 2, "pair": 2, "nest": 1}


def test_an_expression_is_written_once_however_often_it_is_used():
    class Shared(Pair):
        def build(self, m):
            value = self.x
            for _ in range(12):
                value = (value + value)[:4]
            m.d.comb += [self.y.eq(value), self.z.eq(value)]

    assert emit(Shared(PairParams())).verilog.count(" + ") == 12


def test_ports():
    assert emit(Pair(PairParams())).top.ports == [
        Port("clk", "input", 1),
        Port("rst", "input", 1),
        Port("x", "input", 4),
        Port("y", "output", 4),
        Port("z", "output", 9),
    ]


def test_names_that_do_not_distinguish_are_refused():
    class Vague(LeafParams, suffix="same"):
        """Has one name for all sizes."""

    class Clash(Pair):
        def build(self, m):
            m.submodules.narrow = Leaf(Vague(bits=1))
            m.submodules.wide = Leaf(Vague(bits=2))

    with pytest.raises(ValueError, match="leaf_same"):
        emit(Clash(PairParams()))


def test_simulates_in_plain_amaranth_too():
    pair = Pair(PairParams())

    async def bench(ctx):
        ctx.set(pair.x, 3)
        await ctx.tick().repeat(2)
        assert ctx.get(pair.y) == 5

    simulator = Simulator(pair)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


class TwoClocks(Leaf):
    """Has a register in each of two clocks, in parts that know one clock only."""

    domains = ("sync", "slow")

    def build(self, m):
        m.submodules.first = first = Leaf(self.params)
        m.submodules.second = second = DomainRenamer("slow")(Leaf(self.params))
        m.d.comb += [first.a.eq(self.a), second.a.eq(first.b), self.b.eq(second.b)]


def instances(verilog):
    """Return connections by instance."""
    result = re.findall(r"^  \w+ (\w+) \(\n(.*?)^  \);", verilog, re.M | re.S)
    return {name: dict(re.findall(r"\.(\w+)\((.*?)\)", wires)) for name, wires in result}


def test_other_clocks_have_ports_of_their_own():
    module = emit(TwoClocks(LeafParams())).top
    assert module.domains == ("sync", "slow")
    assert [port.name for port in module.ports] == ["clk", "rst", "slow_clk", "slow_rst", "a", "b"]
    wires = instances(module.verilog)
    assert (wires["first"]["clk"], wires["first"]["rst"]) == ("clk", "rst")
    assert (wires["second"]["clk"], wires["second"]["rst"]) == ("slow_clk", "slow_rst")


def test_clocks_are_renamed_where_a_component_is_placed():
    class Around(Pair):
        domains = ("core",)

        def build(self, m):
            m.domains.fast = ClockDomain(local=True)
            m.submodules.both = both = DomainRenamer({"sync": "core", "slow": "fast"})(
                TwoClocks(LeafParams())
            )
            m.d.comb += [
                ClockSignal("fast").eq(self.x[0]),
                ResetSignal("fast").eq(self.x[1]),
                both.a.eq(self.x),
                self.y.eq(both.b),
            ]

    module = emit(Around(PairParams())).top
    assert module.domains == ("core",)
    wires = instances(module.verilog)["both"]
    assert (wires["clk"], wires["rst"]) == ("core_clk", "core_rst")
    assert (wires["slow_clk"], wires["slow_rst"]) == ("x[0]", "x[1]")


def test_a_clock_that_is_not_declared_is_refused():
    class Secret(TwoClocks):
        domains = ("sync",)

    with pytest.raises(ValueError, match="Secret: slow_clk is of no clock domain"):
        emit(Secret(LeafParams()))


def test_refuses_more_inputs_than_amaranth_numbers():
    """They would be taken for the outputs of the module's first parts."""
    most = MOST_INPUT_BITS - 2  # clock and reset
    assert f"[{most - 1}:0] a" in emit(Leaf(LeafParams(bits=most))).verilog
    with pytest.raises(UserError, match=r"leaf_65533 has 65,535 bits of inputs, a module at most"):
        emit(Leaf(LeafParams(bits=most + 1)))
