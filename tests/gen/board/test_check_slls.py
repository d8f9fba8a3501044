"""Spoils a floorplan or its Verilog in one place, and the checker says where."""

import re

import pytest

from gen.base.emission.emit import emit
from gen.board.check_constraints import read_constraints
from gen.board.check_slls import check_slls
from gen.board.hierarchy import Hierarchy, read_verilog
from gen.floorplan.parts import floorplan
from gen.floorplan.pblocks import to_xdc
from gen.floorplan.plan import Plan, PlanPart
from gen.synth.device import U280
from tests.gen.floorplan.design import Board, synthesis
from tests.tables import rows

#: the group is one SLR away, the MAC two
PLAN = Plan(
    parts=(
        PlanPart(name="far", cells=("group",), slr=1),
        PlanPart(name="mac", cells=("mac",), slr=2),
    )
)
THERE = ("payload", "sent", "reset")  #: what passes a stream's way in its direction
WAYS = ("frame_path", "status_path", "group/path")


@pytest.fixture(scope="module")
def design():
    emission = emit(Board())
    xdc = to_xdc(floorplan(emission, synthesis(emission), U280, PLAN))
    return {f"{name}.v": module.verilog for name, module in emission.modules.items()}, xdc


def result(folder, verilog, xdc):
    (folder / "rtl").mkdir()
    for name, text in verilog.items():
        (folder / "rtl" / name).write_text(text)
    (folder / "floorplan.xdc").write_text(xdc)
    hierarchy = Hierarchy("board", read_verilog(sorted((folder / "rtl").glob("*.v"))))
    wrong = []
    constraints = read_constraints([folder / "floorplan.xdc"], wrong)
    assert wrong == []
    return list(check_slls(constraints, hierarchy, folder / "rtl", WAYS))


def test_the_floorplan_fits_the_verilog(design, tmp_path):
    assert result(tmp_path, *design) == []


def test_every_path_has_a_pair_at_each_edge(design):
    marked = re.findall(r"USER_SLL_REG TRUE \[get_cells \{(.*)\}\]", design[1])
    assert sorted(marked) == sorted(
        [f"group/path/{name}_{k}_reg*" for name in (*THERE, "left") for k in (1, 2)]
        + [f"group/{name}_path/{k}_reg*" for name in ("mode", "heard") for k in ("wires_1", "o")]
        + [f"frame_path/{k}_reg*" for k in ("wires_1", "wires_2", "wires_3", "o")]
        + [f"status_path/{k}_reg*" for k in ("wires_1", "wires_2", "wires_4", "o")]
    )


#: file, what is replaced in it, by what, what is said
SPOILED = rows(
    r"""
    floorplan.xdc | IS_SOFT FALSE | IS_SOFT TRUE | pblock pblock_slr1 is soft
    floorplan.xdc | set_property USER_SLL_REG TRUE \[get_cells \{group/path/sent_2_reg.*\n |  |
        register group/path/sent_2 passes an edge and is not marked
    floorplan.xdc | .*\{status_path/.*\n |  |
        the way at status_path has no register that is marked USER_SLL_REG
    floorplan.xdc | \Z | set_property USER_SLL_REG TRUE [get_cells {status_path/wires_3_reg*}]\n |
        status_path/wires_3 is marked USER_SLL_REG, but 0 of its wires pass an edge
    floorplan.xdc | add_cells_to_pblock .*\{frame_path/wires_2_reg.*\n |  |
        frame_path/wires_2 is marked USER_SLL_REG, but in no pblock
    floorplan.xdc | pblock_slr1(\] \[get_cells \{frame_path/wires_2_reg) | pblock_slr0\1 |
        frame_path/wires_3 is marked USER_SLL_REG, but 2 of its wires pass an edge
    floorplan.xdc | pblock_slr1(\] \[get_cells \{frame_path/wires_[23]_reg) | pblock_slr2\1 |
        frame_path/wires_1 passes two edges at once
    wire_pipeline_7_4.v | wires_2 <= wires_1; | if (rst) wires_2 <= 7'd0; else wires_2 <= wires_1; |
        frame_path/wires_2 is marked USER_SLL_REG, but is no plain register \(\$sdff\)
    wire_pipeline_7_4.v | wires_2 <= wires_1; | if (i[0]) wires_2 <= wires_1; |
        frame_path/wires_2 is marked USER_SLL_REG, but is no plain register \(\$dffe\)
    wire_pipeline_7_4.v | wires_2 <= wires_1; | wires_2 <= ~wires_1; |
        frame_path/wires_1 is marked USER_SLL_REG, but 0 of its wires pass an edge
    wire_pipeline_7_4.v | o <= wires_3; | o <= wires_3 ^ wires_1; |
        frame_path/wires_1 is marked USER_SLL_REG, but 0 of its wires pass an edge
    wire_pipeline_7_4.v | \(\* dont_touch = "true" \*\) (?=.*wires_3) |  |
        frame_path/wires_3 is marked USER_SLL_REG, but has no dont_touch true
    """
)


@pytest.mark.parametrize(("file", "pattern", "text", "says"), SPOILED)
def test_what_does_not_fit_is_said(file, pattern, text, says, design, tmp_path):
    texts = {**design[0], "floorplan.xdc": design[1]}
    spoiled = texts | {file: re.sub(pattern, text, texts[file])}
    assert spoiled != texts
    wrong = result(tmp_path, spoiled, spoiled.pop("floorplan.xdc"))
    assert any(re.search(says, line) for line in wrong), wrong
