"""Tests how constraints are read, where a whole package would show little of it."""

import pytest

from gen.board.check_constraints import (
    Constraint,
    check_blocks,
    check_cells,
    check_clocks,
    check_crossings,
    properties_of,
    read_constraints,
)
from gen.board.hierarchy import Hierarchy, VerilogModule
from gen.board.tcl import commands

HIERARCHY = Hierarchy(
    "top",
    {
        "top": VerilogModule("top", {}, {"core": "core", "ip": "box"}),
        "core": VerilogModule("core", {"clk": ("input", 1)}, {}, {"gray": 3}),
    },
    {"box": ["clk_out"]},
)


def constraints(text):
    return [Constraint("x.xdc", command) for command in commands(text)]


NAMES = {
    "[get_cells {a b/c_reg[*]}]": ["a", "b/c_reg[*]"],
    "[get_cells [list {a} b/c]]": ["a", "b/c"],
    "[get_cells -of_objects [get_pins p] -quiet]": [],
    "[get_pins -of_objects [get_cells -filter {NAME =~ x} {k l}]]": ["k", "l"],
}


@pytest.mark.parametrize("text", NAMES)
def test_names_of_queries(text):
    (constraint,) = constraints(f"set_false_path -from {text}")
    assert constraint.names("get_cells") == NAMES[text]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("set_property A b [get_ports x]", {"A": "b"}),
        ("set_property -dict {A b C d} [get_ports x]", {"A": "b", "C": "d"}),
        ("set_property A", {}),
    ],
)
def test_properties(text, result):
    assert properties_of(commands(text)[0]) == result


def test_files_that_are_no_xdc(tmp_path):
    (tmp_path / "a.xdc").write_text("set_false_path -to [get_cells x]\nputs hello\n")
    (tmp_path / "b.xdc").write_text("set x {\n")
    wrong = []
    result = read_constraints(sorted(tmp_path.glob("*")), wrong)
    assert [str(constraint) for constraint in result] == ["a.xdc:1", "a.xdc:2"]
    assert wrong[0] == "a.xdc:2: puts is no constraint"
    assert wrong[1].startswith("b.xdc is not Tcl")


def test_cells_and_pins():
    right = "set_max_delay 4 -from [get_cells core/gray_reg[*]] -to [get_pins ip/clk_out]"
    assert list(check_cells(constraints(right), HIERARCHY)) == []
    wrong = "set_max_delay 4 -from [get_cells core/grey_reg[*]] -to [get_pins ip/clk_in]"
    assert list(check_cells(constraints(wrong), HIERARCHY)) == [
        "x.xdc:1: there is no cell core/grey_reg[*]",
        "x.xdc:1: there is no pin ip/clk_in",
    ]


def test_clocks_that_ip_makes_are_detected_by_their_pins():
    text = """create_clock -name a -period 4.000 [get_ports p]
set_clock_groups -asynchronous -group [get_clocks a] -group [get_clocks -of_objects [get_pins x]]
create_generated_clock -name b -source [get_pins x] [get_pins y]
set_false_path -from [get_clocks b] -to [get_clocks c]"""
    known = {"p": 4.0}
    assert list(check_clocks(constraints(text), known, {})) == ["x.xdc:4: no clock c is defined"]


def test_a_clock_that_an_ip_makes_is_not_built_again():
    text = "create_clock -name a -period 10.000 [get_ports p]"
    assert list(check_clocks(constraints(text), {}, {"p": "clocking"})) == [
        "port p has the clock of clocking, which another would replace"
    ]
    assert list(check_clocks([], {}, {"p": "clocking"})) == []


def test_blocks_and_crossings():
    text = (
        "create_pblock a\nadd_cells_to_pblock [get_pblocks a] [get_cells core]\nresize_pblock b x"
    )
    assert list(check_blocks(constraints(text))) == ["x.xdc:3: there is no pblock b"]
    exceptions = constraints("set_false_path -to [get_pins core/gray_reg[0]/D]")
    assert list(check_crossings(exceptions, ["core"], HIERARCHY)) == []
    assert list(check_crossings(exceptions, ["cor", "ip"], HIERARCHY)) == [
        "there is no crossing at cor",
        "the crossing at ip has no exception",
    ]
