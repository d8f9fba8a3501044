import pytest

from gen.board.black_boxes import black_box, with_boxes
from gen.board.boards import find_board
from gen.board.values import below, core_of, notes_of, values_of
from tests.gen.board.sample import DESIGN, MAC, Core, SampleBoard


def test_values_of_the_sample(emission):
    values = values_of(emission, find_board("u280"), DESIGN, floorplan=False)
    assert (values["top"], values["core"]) == ("sample_board", "core")
    assert [clock["period"] for clock in values["clocks"]] == ["10.000", "6.206"]
    assert [clock["pin"] for clock in values["all_clocks"]] == ["", "", "clocking/clk_out1"]
    assert values["ips"][0]["config"][0] == ("CONFIG.PRIM_IN_FREQ", "100.000")
    assert values["late"] == ["crossings.xdc"]
    assert values["macs"]
    assert list(values["maps"]) == ["", "sample_board_status/"]
    with_plan = values_of(emission, find_board("u280"), DESIGN, floorplan=True)
    assert with_plan["late"] == ["crossings.xdc", "floorplan.xdc"]


def test_core_and_what_is_below_it(emission):
    assert core_of(emission, Core) == "core"
    with pytest.raises(ValueError, match="sample_board holds 0 modules of int"):
        core_of(emission, int)
    assert list(below(emission, "core").modules) == ["core"]
    assert list(below(emission, "sample_board").modules) == list(emission.modules)


def test_notes_are_markdown():
    class Top(SampleBoard):
        """See :func:`board_registers` and :class:`~a.B`."""

    assert notes_of(object.__new__(Top)) == "See `board_registers` and `~a.B`.".replace("~", "")


def test_ip_is_a_black_box_where_it_is_placed(emission):
    boxed = with_boxes(emission)
    assert list(boxed.modules) == list(emission.modules)
    assert boxed.modules["core"].rtlil == emission.modules["core"].rtlil
    text = boxed.modules["sample_board"].rtlil
    assert text.startswith("attribute \\blackbox 1\nmodule \\clocking\n")
    assert black_box(MAC) in text
    assert "  wire width 4 output 1 \\gt_txp_out\n" in black_box(MAC)
