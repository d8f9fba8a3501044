"""Checks constraints as text."""

import subprocess

from gen.floorplan.model import Floorplan, Part
from gen.floorplan.pblocks import to_xdc
from gen.floorplan.solver import solve
from gen.synth.device import U280
from gen.synth.resources import Resources
from tests.gen.floorplan.plans import engine_groups, link, small_device
from tests.tclsh import tclsh

#: stands for Vivado: says what each command did
VIVADO = """
proc create_pblock {name} { set ::blocks($name) 1; puts "create $name" }
proc get_pblocks {name} { if {![info exists ::blocks($name)]} { error $name }; return $name }
proc get_cells {name} { return $name }
proc resize_pblock {block add slr} { puts "resize $block $add $slr" }
proc set_property {name value block} { puts "set $block $name $value" }
proc add_cells_to_pblock {block cell} { puts "add $block $cell" }
"""


def run(xdc):
    done = subprocess.run([tclsh()], input=VIVADO + xdc, text=True, capture_output=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def small():
    parts = (
        Part(name="hub", cells=("registers", "control$1"), resources=Resources(lut=500)),
        Part(name="far", cells=("core/chain/group_1",), resources=Resources(lut=1_000, uram=3)),
    )
    return Floorplan(
        device=small_device(slrs=2),
        parts=parts,
        links=(link("hub", "far", 45),),
        assignment={"hub": 0, "far": 1},
    )


def test_commands():
    assert run(to_xdc(small())) == [
        "create pblock_slr0",
        "resize pblock_slr0 -add SLR0",
        "set pblock_slr0 IS_SOFT FALSE",
        "add pblock_slr0 registers",
        "add pblock_slr0 control$1",
        "create pblock_slr1",
        "resize pblock_slr1 -add SLR1",
        "set pblock_slr1 IS_SOFT FALSE",
        "add pblock_slr1 core/chain/group_1",
    ]


def test_figures():
    header = [line for line in to_xdc(small()).splitlines() if line.startswith("# ")]
    assert "# SLR0: hub" in header
    assert "# SLR0-SLR1: 45 of 50 wires" in header
    assert any(line.startswith("#   luts 1,000 of 1,000, ") for line in header)
    assert any(", uram 3 of 100, " in line for line in header)


def test_every_cell_once():
    floorplan = solve(*engine_groups(), U280)
    added = [line.split()[2] for line in run(to_xdc(floorplan)) if line.startswith("add")]
    assert sorted(added) == sorted(cell for part in floorplan.parts for cell in part.cells)


def test_the_same_every_time():
    assert to_xdc(small()) == to_xdc(small())
