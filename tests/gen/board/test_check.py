"""Spoils a package in one place, and the checker says where."""

import re

import pytest

from gen.board.boards import find_board
from gen.board.check import problems
from tests.gen.board.conftest import sample_tables
from tests.gen.board.sample import CoreParams, SampleBoard
from tests.tables import rows

TABLE = find_board("u280").constraints / "pins.csv"


def result(folder):
    with sample_tables():
        return problems(folder, TABLE, SampleBoard(CoreParams()))


def test_the_package_is_right(package):
    assert result(package) == []


#: file, pattern that is replaced in it, by what, what the checker says
SPOILED = rows(
    r"""
    xdc/pins.xdc | set_property PACKAGE_PIN R40.*\n |  | port qsfp0_mgt_refclk_1_p has no pin
    xdc/pins.xdc | BH26 | BH27 | pcie_reset_n is at BH27
    xdc/pins.xdc | L44 | L48 | pin L48 is used 2 times
    xdc/pins.xdc | \Z | set_property PACKAGE_PIN A1 [get_ports hbm_cattrip]\n |
        port hbm_cattrip has 2 pins
    xdc/pins.xdc | hbm_cattrip | hbm_trip | top has no port hbm_trip
    xdc/pins.xdc | D32 IOSTANDARD LVCMOS18 | D32 IOSTANDARD LVCMOS12 |
        hbm_cattrip has standard 'LVCMOS12'
    xdc/pins.xdc | PACKAGE_PIN R40 | -dict {PACKAGE_PIN R40 IOSTANDARD LVDS} |
        qsfp0_mgt_refclk_1_p has standard 'LVDS'
    xdc/pins.xdc | PULLUP TRUE |  | pcie_reset_n has no PULLUP TRUE
    xdc/clocks.xdc | \Z | create_clock -name board -period 10.000 [get_ports clk_100mhz_0_p]\n |
        clock board is defined 2 times
    xdc/clocks.xdc | \Z | create_clock -name other -period 10.000 [get_ports clk_100mhz_0_p]\n |
        port clk_100mhz_0_p has 2 clocks
    xdc/clocks.xdc | create_clock.*clk_100mhz_0_p.*\n |  | clock port clk_100mhz_0_p has no clock
    xdc/clocks.xdc | 10\.000 | 1.000 | has period 1.000, not 10.000
    xdc/clocks.xdc | \Z | create_clock -name x -period 1 [get_ports hbm_cattrip]\n |
        port hbm_cattrip is no clock of the top
    xdc/crossings.xdc | \Z | set_false_path -from [get_clocks ghost]\n | no clock ghost is defined
    xdc/floorplan.xdc | {core} | {cores} | there is no cell cores
    xdc/crossings.xdc | reset/ | resets/ | there is no .* resets/
    xdc/crossings.xdc | (?s)\A.*\Z |  | crossing at reset has no exception
    rtl/synchroniser_1.v | \bfirst\b | one | no .* reset/first_reg
    rtl/synchroniser_1.v | \(\* keep_hierarchy = "yes" \*\)\n |  |
        crossings\.xdc.*synchroniser_1 has no keep_hierarchy
    rtl/sample_board.v | \.s_axil_awaddr\(.*\n |  |
        core in sample_board: input s_axil_awaddr is left open
    rtl/sample_board.v | \.irq\( | .iraq( | core in sample_board: core has no port iraq
    rtl/sample_board.v | \.gt_txp_out\( | .gt_tx( | mac in sample_board: mac has no port gt_tx
    rtl/sample_board.v | reset \( | rest ( | no crossing at reset
    xdc/floorplan.xdc | \Z | create_pblock pblock_slr0\n | pblock pblock_slr0 is made 2 times
    xdc/floorplan.xdc | \Z | resize_pblock [get_pblocks pblock_slr9] -add {SLR0}\n |
        there is no pblock pblock_slr9
    xdc/clocks.xdc | \Z | foreach x {1 2} {puts $x}\n | foreach is no constraint
    xdc/clocks.xdc | \Z | set_property A b [exec ls]\n | exec is no query
    xdc/clocks.xdc | \Z | set x {\n | is not Tcl
    tcl/ip.tcl | create_ip .* mac\n |  | module mac is placed, but is no file, no IP
    tcl/ip.tcl | -module_name mac | -module_name mc | mc is placed nowhere
    tcl/ip.tcl | \Z | create_ip -name cmac_usplus -module_name mac\n | IP mac is made 2 times
    tcl/ip.tcl | \Z | [ | ip.tcl is not Tcl
    filelist.f | \Z | rtl/core.v\n | lists rtl/core.v twice
    filelist.f | rtl/core.v\n |  | rtl/core.v is not in filelist.f
    filelist.f | \Z | rtl/x.v\n | lists rtl/x.v, which is not
    tcl/project.tcl | clocks.xdc |  | xdc/clocks.xdc is not in project.tcl
    rtl/sample_board.v | hbm_cattrip | hbm_trip | hbm_trip is not in the manifest
    rtl/sample_board.v | output wire \[3:0\] | output wire [4:0] |
        qsfp0_tx_p is \('output', 5\) in Verilog
    rtl/core.v | \Z | module\n | core.v is not Verilog
    manifest.json | "top": "sample | "top": "simple | no module simple_
    component.xml | modelName>core< | modelName>cor< | of cor, which is no module
    component.xml | (M_AXI_WORDS_0.DATA_WIDTH\">)256 | \g<1>128 |
        m_axi_words_0_rdata of m_axi_words_0 has 256 bits, not 128
    component.xml | (M_AXIS.TDATA_NUM_BYTES\">)64 | \g<1>65 |
        m_axis_tkeep of m_axis has 64 bits, not 65
    component.xml | (physicalPort>\s*<spirit:name>)irq< | \g<1>iraq< | irq has no port iraq
    component.xml | >255< | >254< | port .* is not as in
    component.xml | rtl/core.v | rtl/c.v | does not list the files
    component.xml | </spirit:component> |  | cannot be read
    """
)


@pytest.mark.parametrize(("name", "pattern", "by", "says"), SPOILED)
def test_what_is_spoiled_is_detected(name, pattern, by, says, copy):
    path = copy / name
    text = path.read_text()
    spoiled = re.sub(pattern, by, text)
    assert spoiled != text
    path.write_text(spoiled)
    assert re.search(says, "\n".join(result(copy)))


@pytest.mark.parametrize("name", ["rtl/core.v", "xdc/pins.xdc", "component.xml"])
def test_a_file_that_is_gone(name, copy):
    (copy / name).unlink()
    assert any(name in line for line in result(copy))


@pytest.mark.parametrize("name", ["rtl/new.v", "xdc/new.xdc", "notes.txt"])
def test_a_file_too_many(name, copy):
    (copy / name).write_text("\n")
    assert f"{name} is not in the manifest" in result(copy)
