"""Counts loads of wires in netlists made by hand, through modules and back."""

import pytest

from gen.synth import fan_out
from gen.synth.fan_out import nets_of
from tests.gen.synth.built import flip_flop, lut, netlist


@pytest.fixture(autouse=True)
def at_most_three_loads(monkeypatch):
    monkeypatch.setattr(fan_out, "MAX_FAN_OUT", 3)


def crowded(cells, ports=None, children=None, **more):
    return {
        (net.driver, net.loads)
        for net in nets_of(netlist(cells, ports, **more), children or {})[0].crowded
    }


def flip_flops(bit, count):
    return {f"$f{bit}_{k}": flip_flop(bit, 100 * bit + k) for k in range(count)}


def test_logic_with_many_loads_is_reported_and_a_flip_flop_is_not():
    cells = {"$a": flip_flop("0", 2), **flip_flops(2, 4), "$l": lut(3, 2), **flip_flops(3, 4)}
    assert crowded(cells, names={"kept": [2], "chosen": [3]}) == {("chosen", 4)}


def test_as_many_loads_as_may_be_are_not_reported():
    assert crowded({"$l": lut(3, 2), **flip_flops(3, 3)}) == set()


def test_resets_and_enables_are_loads_and_clocks_are_not():
    wires = {"C": [3], "CE": [3], "D": [3], "Q": [9], "R": [3]}
    assert crowded({"$l": lut(3, 2), "$a": ("FDRE", wires), "$b": ("FDRE", wires)}) == {
        ("an unnamed LUT1", 6)
    }


def test_a_hard_block_drives_a_wire_that_cannot_be_copied():
    memory = ("URAM288", {"DOUT_A": [3], "ADDR_A": [6], "CLK": [1]})
    assert crowded({"m": memory, **flip_flops(3, 4)}, names={"word": [3]}) == {("word", 4)}


def test_what_the_netlist_says_of_an_unknown_kind_counts():
    block = ("pcie", {"reset": [3], "i": [3]}, {"port_directions": dict(reset="output", i="input")})
    assert crowded({"ip": block, **flip_flops(3, 3)}, names={"reset": [3]}) == {("reset", 4)}


#: i has two loads inside and leaves again as o; y is the module's own logic, with a load inside
CHILD = {**flip_flops(2, 2), "$y": lut(5, 2), "$f": flip_flop(5, 6)}
PORTS = {"i": ("input", [2]), "o": ("output", [2]), "y": ("output", [5])}


def child():
    return nets_of(netlist(CHILD, PORTS, {"inner": [5]}), {})[0]


def test_loads_of_a_child_are_counted_through_it():
    """There are three of the child's, the flip-flop behind it, and one beside it."""
    part = ("module", {"i": [20], "o": [21], "y": [22]})
    cells = {"$l": lut(20, 19), "part": part, "$p": flip_flop(21, 30), "$q": flip_flop(20, 31)}
    result = crowded(cells, children={"module": child()}, names={"from": [20]})
    assert result == {("from", 5)}


def test_a_wire_out_of_a_child_is_called_after_both():
    part = ("module", {"i": [20], "o": [21], "y": [22]})
    result = crowded({"part": part, **flip_flops(22, 3)}, children={"module": child()})
    assert result == {("part.inner", 4)}


def test_a_wire_that_leaves_the_module_is_its_parents_to_judge():
    cells = {"$l": lut(3, 2), **flip_flops(3, 4)}
    result = nets_of(netlist(cells, {"o": ("output", [3])}, {"chosen": [3]}), {})[0]
    assert result.crowded == ()
    assert [(net.driver, net.loads, net.crowded) for net in result.leaving] == [("chosen", 4, True)]


def test_what_nobody_takes_from_a_child_is_reported_all_the_same():
    cells = {"$l": lut(3, 2), **flip_flops(3, 4)}
    busy = nets_of(netlist(cells, {"o": ("output", [3])}, {"chosen": [3]}), {})[0]
    part = ("module", {"o": []})
    assert crowded({"part": part}, children={"module": busy}) == {("part.chosen", 4)}


def resettable(reset, count, port="R"):
    """Return flip-flops whose resets are a wire, and whose enables are, too."""
    wires = {"C": [1], "CE": [reset], "D": ["0"], port: [reset]}
    return {f"$r{reset}{port}{k}": ("FDRE", wires | {"Q": [900 + k]}) for k in range(count)}


def test_registers_that_a_wire_resets_are_counted_through_modules():
    """Enables and data are other loads; the wire that resets fewer is not the one."""
    child = nets_of(netlist(resettable(5, 2), {"rst": ("input", [5])}), {})[0]
    assert child.reset.resets == 0  # it comes from outside
    cells = {
        "$a": flip_flop("0", 20),
        "$b": flip_flop("0", 21),
        "one": ("module", {"rst": [20]}),
        "two": ("module", {"rst": [20]}),
        **resettable(20, 1, "S"),
        **resettable(21, 3),
        **flip_flops(21, 4),
    }
    names = {"reset": [20], "other": [21]}
    result = nets_of(netlist(cells, names=names), {"module": child})[0].reset
    assert (result.driver, result.registered, result.resets, result.loads) == ("reset", True, 5, 10)
