"""The emitter: each distinct module once, the same bytes every time."""

import re
import subprocess
import sys
from dataclasses import dataclass

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from gen.emit import Port, emit
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
        def elaborate(self, platform):
            m = Module()
            m.submodules.left = left = Pair(self.params)
            m.submodules.right = right = Pair(self.params)
            m.d.comb += [left.x.eq(self.x), right.x.eq(left.y), self.y.eq(right.y)]
            return m

    counts = emit(Nest(PairParams())).counts()
    assert counts == {"leaf_4": 4, "leaf_9": 2, "pair": 2, "nest": 1}


def test_ports():
    assert emit(Pair(PairParams())).top.ports == [
        Port("clk", "input", 1),
        Port("rst", "input", 1),
        Port("x", "input", 4),
        Port("y", "output", 4),
        Port("z", "output", 9),
    ]


def test_same_bytes_again():
    first = emit(Pair(PairParams())).verilog
    emit(Pair(PairParams(bits=9)))
    assert emit(Pair(PairParams())).verilog == first


SCRIPT = """
from gen.emit import emit
from tests.gen.sample import Pair, PairParams
print(emit(Pair(PairParams())).digest)
"""


def test_same_bytes_in_another_process():
    digests = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert digests == {emit(Pair(PairParams())).digest}


def test_names_that_do_not_tell_apart_are_refused():
    @dataclass(frozen=True, kw_only=True)
    class Vague(LeafParams):
        suffix = "same"

    class Clash(Pair):
        def elaborate(self, platform):
            m = Module()
            m.submodules.narrow = Leaf(Vague(bits=1))
            m.submodules.wide = Leaf(Vague(bits=2))
            return m

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
