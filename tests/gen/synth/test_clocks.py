"""Follows clocks through modules made by hand, and the loads of wires on paths of each clock."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from amaranth.hdl import DomainRenamer
from amaranth.lib.wiring import In, Out

from gen.base.emission.emit import emit
from gen.synth.clock_timing import timings
from gen.synth.depth import Depth
from gen.synth.synthesis import look_at, synthesise
from hdl.common.component import Component
from hdl.u280.board import Clock
from sim.harness.cache import cached_folder
from tests.gen.synth.built import lut, netlist
from tests.gen.synth.circuits import Bits, NoParams, Sum

CLOCKS = {"clk": ("input", [1]), "hbm_clk": ("input", [9])}


def register(clock, d, q):
    return "FDRE", {"C": [clock], "CE": ["1"], "D": [d], "Q": [q], "R": ["0"]}


def seen(cells, ports=None, below=None, **more):
    return look_at("", netlist(cells, CLOCKS | (ports or {}), **more), below or {})


def depths(cells, *more, **options):
    _, timing, _ = seen(cells, *more, **options)
    return {clock: paths.depth for clock, paths in timing.paths.items()}


def levels(cells, *more, **options):
    return {clock: depth.most_levels for clock, depth in depths(cells, *more, **options).items()}


def test_each_clock_has_paths_of_its_own():
    cells = {
        "$a": register(1, "0", 2),
        "$l": lut(3, 2),
        "$b": register(1, 3, 4),
        "$c": register(9, "0", 5),
        "$m": lut(6, 5),
        "$n": lut(7, 6),
        "$d": register(9, 7, 8),
    }
    names = {"a": [2], "b": [4], "c": [5], "d": [8]}
    result = {k: (d.levels, d.start, d.end) for k, d in depths(cells, names=names).items()}
    assert result == {"clk": (1, "a", "b"), "hbm_clk": (2, "c", "d")}


def test_a_path_between_two_clocks_is_none():
    cells = {"$a": register(1, "0", 2), "$l": lut(3, 2), "$b": register(9, 3, 4)}
    assert depths(cells) == {"clk": Depth(), "hbm_clk": Depth()}


def test_ip_counts_for_each_clock_that_it_has():
    wires = {"A_CLK": [1], "B_CLK": [9], "i": [2], "o": [3]}
    directions = {"A_CLK": "input", "B_CLK": "input", "i": "input", "o": "output"}
    ip = ("hbm", wires, {"port_directions": directions})
    cells = {"ip": ip, "$l": lut(4, 3), "$a": register(1, 4, 5), "$b": register(9, 3, 6)}
    assert levels(cells) == {"clk": 3, "hbm_clk": 2}


def test_a_transceivers_reference_is_the_clock_that_enters_its_buffer():
    ways = {"port_directions": {"I": "input", "O": "output", "ODIV2": "output"}}
    cells = {
        "refclk": ("IBUFDS_GTE4", {"I": [1], "O": [2], "ODIV2": [3]}, ways),
        "$a": register(3, "0", 4),
        "$l": lut(5, 4),
        "$b": register(3, 5, 6),
    }
    assert levels(cells) == {"clk": 1}


def test_a_clock_that_ip_makes_is_called_by_its_path_through_modules_and_buffers():
    ip = ("clk_wiz", {"clk_in1": [1], "clk_out1": [2]})
    ways = {"port_directions": {"clk_in1": "input", "clk_out1": "output"}}
    cells = {"wizard": (*ip, ways), "global": ("BUFG", {"I": [2], "O": [3]})}
    inner = seen(cells, {"fast": ("output", [3])})
    child = seen(
        {"inner": ("child", {"clk": [1], "fast": [4]})}, {"o": ("output", [4])}, {"child": inner}
    )
    cells = {
        "part": ("child", {"clk": [1], "o": [30]}),
        "$a": register(30, "0", 31),
        "$l": lut(32, 31),
        "$b": register(30, 32, 33),
    }
    assert levels(cells, below={"child": child}) == {"part/inner/wizard/clk_out1": 1}


def test_a_parents_clocks_are_those_at_the_ports_of_its_children():
    """One instance has its clocks the other way round."""
    o = {"o": ("output", [3]), "i": ("input", [4])}
    child = seen({"$a": register(1, "0", 2), "$l": lut(3, 2), "$b": register(9, 4, 5)}, o)
    cells = {
        "one": ("child", {"clk": [1], "hbm_clk": [9], "o": [20], "i": [21]}),
        "two": ("child", {"clk": [9], "hbm_clk": [1], "o": [21], "i": [20]}),
    }
    _, timing, _ = seen(cells, below={"child": child})
    assert timing.clocks_below == {
        "child": {"clk": {"clk", "hbm_clk"}, "hbm_clk": {"clk", "hbm_clk"}}
    }
    assert {clock: paths.depth.levels for clock, paths in timing.paths.items()} == {
        "clk": 1,
        "hbm_clk": 1,
    }


def enables(wire, count, clock=1):
    """Return registers whose enables are a wire."""
    pins = {"C": [clock], "CE": [wire], "D": ["0"], "R": ["0"]}
    return {f"$e{clock}_{k}": ("FDRE", pins | {"Q": [100 * clock + k]}) for k in range(count)}


@pytest.mark.parametrize(("count", "more"), [(64, 0), (65, 1), (256, 1), (257, 2)])
def test_a_wire_that_logic_drives_has_levels_for_its_loads(count, more):
    ends = {"$a": register(1, "0", 2)} | enables(3, count)
    assert levels({"$l": lut(3, 2)} | ends) == {"clk": 1 + more}
    assert levels({"$l": register(1, 2, 3)} | ends) == {"clk": 0}


@pytest.mark.parametrize(("inside", "outside", "most"), [(0, 64, 1), (0, 65, 2), (40, 25, 2)])
def test_loads_outside_a_module_slow_paths_out_of_it(inside, outside, most):
    cells = {"$a": register(1, "0", 2), "$l": lut(3, 2)} | enables(3, inside)
    child = seen(cells, {"o": ("output", [3])})
    part = {"part": ("child", {"clk": [1], "hbm_clk": [9], "o": [20]})}
    assert levels(part | enables(20, outside), below={"child": child}) == {"clk": most}


def test_loads_outside_a_module_slow_paths_inside():
    """The loads outside have another clock, so that no path to them is judged."""
    cells = {"$a": register(1, "0", 2), "$l": lut(3, 2)} | enables(3, 40)
    child = seen(cells, {"o": ("output", [3])})
    assert child[1].depth.most_levels == 1
    part = {"part": ("child", {"clk": [1], "hbm_clk": [9], "o": [20]})}
    for outside, most in ((24, 0), (25, 2)):
        cells = part | enables(20, outside, clock=9)
        assert levels(cells, below={"child": child})["clk"] == most


def test_loads_below_slow_a_path_from_above():
    child = seen(enables(3, 65), {"i": ("input", [3])})
    cells = {
        "$a": register(1, "0", 2),
        "$l": lut(20, 2),
        "part": ("child", {"clk": [1], "hbm_clk": [9], "i": [20]}),
    }
    assert levels(cells, below={"child": child}) == {"clk": 2}


class Two(Component):
    """Adds in each of two clocks, by the same module."""

    domains = ("sync", "hbm")

    def __init__(self, params):
        super().__init__(params, i=In(16), o=Out(18))

    def build(self, m):
        top = cast(Any, self)
        for domain, at in (("sync", 0), ("hbm", 9)):
            part = cast(Any, Sum(Bits(bits=8)))
            m.submodules[domain] = DomainRenamer(domain)(part)
            m.d.comb += [part.a.eq(top.i[:8]), part.b.eq(top.i[8:])]
            m.d.comb += top.o[at : at + 9].eq(part.total)


def test_a_module_counts_for_each_clock_that_its_instances_have():
    synthesis = synthesise(emit(Two(NoParams())), cached_folder)
    result = [(c.name, c.mhz, c.module, c.depth.most_levels) for c in synthesis.clocks]
    assert result == [("sync", 250, "sum_8", 1), ("hbm", 250, "sum_8", 1)]
    assert [clock["path"] for clock in synthesis.describe()["clocks"]] == [
        "sum_8: second[0] to total[8]"
    ] * 2


def card(*clocks) -> Any:
    return SimpleNamespace(name="top", domains=(), component=SimpleNamespace(clocks=clocks))


def test_a_card_lists_its_clocks_by_port_or_by_the_pin_that_makes_them():
    top = card(
        Clock(name="oscillator", mhz=100.0, port="clk_p"),
        Clock(name="hbm", mhz=450.0, pin="wizard/clk_out1"),
    )
    shallow = Depth(levels=6, most_levels=6, start="a", end="b")
    deep = Depth(levels=4, chains=3, most_levels=4, start="c", end="d")  # chains are limited apart
    depths = {"wizard/clk_out1": [("one", shallow), ("two", deep)]}
    oscillator, hbm = timings(top, depths)
    assert (oscillator.name, oscillator.module, oscillator.met) == ("oscillator", "", True)
    assert (hbm.name, hbm.path, hbm.depth.levels, hbm.depth.most_levels) == (
        "hbm",
        "one: a to b",
        6,
        6,
    )
    assert (hbm.most_levels, hbm.met) == (4, False)


def test_a_clock_of_no_known_frequency_is_an_error():
    with pytest.raises(ValueError, match="top: no frequency is known of clock part/ip/clk"):
        timings(card(), {"part/ip/clk": []})
