"""Checks that emitted Verilog is the hardware of Amaranth's own RTLIL, module by module."""

import random
from dataclasses import replace

import pytest
from amaranth.hdl import Const, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from gen.base.emission.emit import emit
from gen.designs.catalogue import designs
from hdl.common.component import Component
from hdl.common.params import Params, whole
from sim.harness.emissions import emission_of
from tests.formal.equivalence import difference
from tests.gen.sample import Leaf, LeafParams

TOPS = [name for name, design in designs().items() if not design.within]
SAMPLE = 3  #: modules of a design, drawn by the seed
MAX_TEXT = 60_000  #: characters of RTLIL of a module that is proven in the short form


def emission(name):
    design = designs()[name]
    preset = "tiny" if "tiny" in design.presets else design.preset
    return emission_of(design.make(design.params_of(preset)), generated=True)


@pytest.mark.parametrize("name", TOPS)
def test_a_sample_of_modules_is_its_rtlil(name):
    modules = emission(name).modules
    small = [module for module in modules.values() if len(module.rtlil) <= MAX_TEXT]
    for module in random.sample(small, SAMPLE):
        assert not difference(module, modules)


@pytest.mark.long
@pytest.mark.parametrize("name", TOPS)
def test_every_module_is_its_rtlil(name):
    modules = emission(name).modules
    assert [text for item in modules.values() if (text := difference(item, modules))] == []


class EverythingParams(Params, suffix="{width}"):
    width: int = whole(1, 8, default=4)


class Everything(Component):
    """Has every operator of Amaranth, on unsigned and signed numbers, and every statement."""

    def __init__(self, params):
        w = params.width
        pair = data.StructLayout({"low": w, "high": w})
        ports = {"a": In(w), "b": In(w), "c": In(signed(w)), "d": In(signed(w)), "at": In(2)}
        super().__init__(params, ports | {"pair": In(pair), "o": Out(600), "r": Out(w)})

    def build(self, m):
        a, b, c, d, at, w = self.a, self.b, self.c, self.d, self.at, self.params.width
        words = [a, b, self.pair.low, self.pair.high]
        values = [operator(x, y) for x, y in ((a, b), (c, d), (a, d)) for operator in OPERATORS]
        values += [~a, -a, -c, a.any(), a.all(), a.xor(), c >> b, a >> at, (c >> at)[:1]]
        values += [a.bit_select(at, 2), a.word_select(at, 1), Mux(a[0], c, b)]
        chosen, parts, walk = Signal(w), Signal(2 * w), Signal(w + 1)
        with m.Switch(at):
            for k, word in enumerate(words):
                with m.Case(k):
                    m.d.comb += chosen.eq(word)
        m.d.comb += [parts[:w].eq(a), parts[w:].eq((parts[:w] + 1)[:w])]
        with m.If(a == 1):
            m.d.comb += parts[w:].eq(b)
        with m.Elif(b[0]):
            m.d.comb += parts[0].eq(1)
        for bit in range(w):  # each bit of a signal depends on the one below it
            m.d.comb += walk[bit + 1].eq(walk[bit] ^ a[bit])
        with m.If(a > b):
            m.d.sync += self.r.eq((self.r + b)[:w])
        with m.Elif(c < 0):
            m.d.sync += self.r[0].eq(~self.r[0])
            with m.Switch(b):
                with m.Case(0, 1):
                    m.d.sync += self.r.eq(a)
                with m.Case("-" * (w - 1) + "1"):
                    m.d.sync += self.r.eq(parts[:w])
        values += [chosen, parts, walk, Const(3, 4), self.pair.high - self.pair.low]
        bits = [bit for value in values for bit in value]
        for place, bit in enumerate(bits[: len(self.o)]):
            m.d.comb += self.o[place].eq(bit)


OPERATORS = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x // y,
    lambda x, y: x % y,
    lambda x, y: x & y,
    lambda x, y: x | y,
    lambda x, y: x ^ y,
    lambda x, y: x == y,
    lambda x, y: x != y,
    lambda x, y: x < y,
    lambda x, y: x <= y,
    lambda x, y: x > y,
    lambda x, y: x >= y,
    lambda x, y: x << y[:2].as_unsigned(),
    lambda x, y: (Const(1, 8) << x[:3].as_unsigned())[:2] + y,
]


@pytest.mark.parametrize("width", [1, 3, 4])
def test_every_operator_and_statement(width):
    modules = emit(Everything(EverythingParams(width=width))).modules
    assert not difference(modules[f"everything_{width}"], modules)


def test_the_name_of_a_placed_module_s_port_is_no_signal_s():
    class Named(Component):
        """Has a signal whose name the writer would give to what a placed module takes."""

        def __init__(self, params):
            super().__init__(params, a=In(4), b=In(4), o=Out(4), p=Out(4))

        def build(self, m):
            m.submodules.leaf = leaf = Leaf(LeafParams())
            named = Signal(4, name="leaf_a")
            m.d.comb += [leaf.a.eq(self.a ^ self.b), self.o.eq(leaf.b), named.eq(self.a & self.b)]
            m.d.comb += self.p.eq(named ^ (named >> 1))

    modules = emit(Named(EverythingParams())).modules
    module = modules["named_4"]
    assert "leaf_a = a & b;" in module.verilog
    assert not difference(module, modules)


def test_a_difference_is_detected():
    modules = emit(Everything(EverythingParams(width=2))).modules
    (module,) = modules.values()
    for right, wrong in ((" & ", " | "), (" + ", " - "), ("r <=", "r <= ~"), ("2'd1", "2'd2")):
        assert right in module.verilog, right
        broken = replace(module, verilog=module.verilog.replace(right, wrong, 1))
        assert difference(broken, modules), right
