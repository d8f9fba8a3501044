"""Finds the depth of circuits made by hand, whose levels can be counted on paper.

:mod:`tests.gen.synth.test_clocks` has those of several clocks, and loads.
"""

import pytest

from gen.synth.depth import Depth
from gen.synth.timing import timing_of
from tests.gen.synth.built import flip_flop, lut, netlist


def depth(cells, **more):
    return timing_of(netlist(cells, **more), {}, {}).depth


def test_a_register_alone_has_no_path():
    assert depth({"$ff": flip_flop("0", 2)}) == Depth()


def test_levels_between_registers():
    cells = {
        "$a": flip_flop("0", 2),
        "$l": lut(3, 2, 2),
        "$m": lut(4, 3, 2),
        "$b": flip_flop(4, 5),
    }
    result = depth(cells, names={"from": [2], "to": [5]})
    assert (result.levels, result.chains) == (2, 0)
    assert (result.start, result.end) == ("from", "to")


def test_the_deepest_end_is_reported_wherever_it_stands():
    shallow, deep = flip_flop(3, 5), flip_flop(4, 6)
    cells = {"$a": flip_flop("0", 2), "$l": lut(3, 2), "$m": lut(4, 3)}
    for ends in ({"$b": shallow, "$c": deep}, {"$b": deep, "$c": shallow}):
        result = depth(cells | ends, names={"shallow": [5], "deep": [6]})
        assert (result.levels, result.end) == (2, "deep")


def test_the_enable_of_a_register_is_an_end():
    gated = ("FDRE", {"C": [1], "CE": [3], "D": ["0"], "Q": [5], "R": ["0"]})
    assert depth({"$a": flip_flop("0", 2), "$l": lut(3, 2), "$b": gated}).levels == 1


def chain(bits, s=10, carry_in=None):
    """Return CARRY4s in a row; S is s, s + 1, ...; the sums are s + 1000, ..."""
    cells = {}
    for piece in range(bits // 4):
        at = s + 4 * piece
        cells[f"$carry{s}_{piece}"] = (
            "CARRY4",
            {
                "CI": ["0"] if piece == 0 else [at + 2000 - 1],
                "CYINIT": ["0"] if carry_in is None or piece else [carry_in],
                "S": [at + i for i in range(4)],
                "DI": ["0"] * 4,
                "O": [at + 1000 + i for i in range(4)],
                "CO": [at + 2000 + i for i in range(4)],
            },
        )
    return cells


def test_a_chain_over_slices_is_one():
    cells = chain(16) | {f"$f{i}": flip_flop("0", 10 + i) for i in range(16)}
    cells |= {"$end": flip_flop(1025, 5)}
    result = depth(cells)
    assert (result.levels, result.chains, result.carry) == (0, 1, 16)
    assert result.most_carry == 16


def test_two_chains_behind_each_other_are_two():
    cells = chain(8) | chain(4, s=100, carry_in=1017) | {"$a": flip_flop("0", 10)}
    result = depth(cells | {"$end": flip_flop(1103, 5)})
    assert (result.levels, result.chains, result.carry) == (0, 2, 8)


def test_a_lut_before_and_one_behind_a_chain():
    cells = chain(8) | {"$a": flip_flop("0", 2), "$l": lut(10, 2), "$m": lut(3, 1017)}
    result = depth(cells | {"$end": flip_flop(3, 5)})
    assert (result.levels, result.chains, result.carry) == (2, 1, 8)


def test_the_most_of_each_kind_may_be_on_different_paths():
    cells = chain(4) | {"$a": flip_flop("0", 10), "$b": flip_flop(1013, 5)}
    cells |= {"$l": lut(3, 10), "$m": lut(4, 3), "$n": lut(6, 4), "$c": flip_flop(6, 7)}
    result = depth(cells)
    assert (result.levels, result.chains) == (3, 0)
    assert (result.most_levels, result.most_chains, result.most_carry) == (3, 1, 4)


def test_rings_are_reported():
    cells = {"$l": lut(2, 3), "$m": lut(3, 2), "$b": flip_flop(3, 5)}
    assert depth(cells).rings == 1


CHILD_PORTS = {"i": ("input", [2, 3]), "o": ("output", [4, 5, 9]), "wire": ("output", [2])}
#: o[0] is two levels from i[0], o[1] a level behind a register, which is two from i[1]
CHILD = {
    "$l": lut(8, 2),
    "$m": lut(4, 8),
    "$n": lut(10, 3),
    "$o": lut(6, 10, 3),
    "$f": flip_flop(6, 7),
    "$p": lut(5, 7),
    "$q": flip_flop("0", 9),
}


def child():
    return timing_of(netlist(CHILD, CHILD_PORTS, {"inner": [7], "bare": [9]}), {}, {})


def test_a_child_as_its_parent_sees_it():
    result = child()
    paths = result.paths["clk"]
    assert {port: reach.levels for port, reach in paths.outputs.items()} == {
        ("o", 1): 1,
        ("o", 2): 0,
    }
    assert {port: (r.levels, r.start) for port, r in paths.inputs.items()} == {
        ("i", 1): (2, "inner")
    }
    through = {out: {i: r.levels for i, r in ways.items()} for out, ways in result.through.items()}
    assert through == {("o", 0): {("i", 0): 2}, ("wire", 0): {("i", 0): 0}}


def parent(wires):
    cells = {
        "$a": flip_flop("0", 20),
        "$l": lut(21, 20),
        "part": ("module", wires | {"clk": [1]}),
        "$m": lut(31, 30),
        "$b": flip_flop(31, 32),
    }
    names = {"from": [20], "to": [32]}
    return timing_of(netlist(cells, names=names), {"module": child()}, {}).depth


@pytest.mark.parametrize(
    ("i", "o", "levels", "start", "end"),
    [
        ([21, "0"], [30, 33, 34], 4, "from", "to"),
        (["0", 21], [33, 34, 35], 3, "from", "part.inner"),
        (["0", "0"], [33, 30, 34], 2, "part.inner", "to"),
    ],
)
def test_a_path_through_a_child_into_it_or_out_of_it(i, o, levels, start, end):
    result = parent({"i": i, "o": o})
    assert (result.levels, result.start, result.end) == (levels, start, end)


def test_paths_inside_a_child_are_its_own():
    assert parent({"i": ["0", "0"], "o": [33, 34, 35]}) == Depth()
