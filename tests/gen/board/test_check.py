"""Spoils a package in one place, and the checker says where."""

import re

import pytest

from gen.board.boards import find_board
from gen.board.check import problems
from tests.gen.board.conftest import sample_tables
from tests.gen.board.sample import CoreParams, SampleBoard

TABLE = find_board("u280").constraints / "pins.csv"


def result(folder):
    with sample_tables():
        return problems(folder, TABLE, SampleBoard(CoreParams()))


def test_the_package_is_right(package):
    assert result(package) == []


#: file, what is replaced in it (None: nothing), by what, what the checker says
SPOILED = {
    "a pin is dropped": (
        "xdc/pins.xdc",
        r"set_property PACKAGE_PIN R40.*\n",
        "",
        "port qsfp0_mgt_refclk_1_p has no pin",
    ),
    "a pin is another": ("xdc/pins.xdc", "BH26", "BH27", "pcie_reset_n is at BH27"),
    "a pin is used twice": ("xdc/pins.xdc", "L44", "L48", "pin L48 is used 2 times"),
    "a port has two pins": (
        "xdc/pins.xdc",
        r"\Z",
        "set_property PACKAGE_PIN A1 [get_ports hbm_cattrip]\n",
        "port hbm_cattrip has 2 pins",
    ),
    "a port is renamed": ("xdc/pins.xdc", "hbm_cattrip", "hbm_trip", "top has no port hbm_trip"),
    "a standard is another": (
        "xdc/pins.xdc",
        "D32 IOSTANDARD LVCMOS18",
        "D32 IOSTANDARD LVCMOS12",
        "hbm_cattrip has standard 'LVCMOS12'",
    ),
    "a transceiver has a standard": (
        "xdc/pins.xdc",
        r"PACKAGE_PIN R40",
        "-dict {PACKAGE_PIN R40 IOSTANDARD LVDS}",
        "qsfp0_mgt_refclk_1_p has standard 'LVDS'",
    ),
    "a pull-up is dropped": ("xdc/pins.xdc", " PULLUP TRUE", "", "pcie_reset_n has no PULLUP TRUE"),
    "a clock is doubled": (
        "xdc/clocks.xdc",
        r"\Z",
        "create_clock -name board -period 10.000 [get_ports clk_100mhz_0_p]\n",
        "clock board is defined 2 times",
    ),
    "a port has two clocks": (
        "xdc/clocks.xdc",
        r"\Z",
        "create_clock -name other -period 10.000 [get_ports clk_100mhz_0_p]\n",
        "port clk_100mhz_0_p has 2 clocks",
    ),
    "a clock is dropped": (
        "xdc/clocks.xdc",
        r"create_clock.*clk_100mhz_0_p.*\n",
        "",
        "clock port clk_100mhz_0_p has no clock",
    ),
    "a period is another": ("xdc/clocks.xdc", r"10\.000", "1.000", "has period 1.000, not 10.000"),
    "a clock at no clock port": (
        "xdc/clocks.xdc",
        r"\Z",
        "create_clock -name x -period 1 [get_ports hbm_cattrip]\n",
        "port hbm_cattrip is no clock of the top",
    ),
    "a clock that is not there": (
        "xdc/crossings.xdc",
        r"\Z",
        "set_false_path -from [get_clocks ghost]\n",
        "no clock ghost is defined",
    ),
    "a cell is renamed": ("xdc/floorplan.xdc", "{core}", "{cores}", "there is no cell cores"),
    "a crossing is renamed": ("xdc/crossings.xdc", "reset/", "resets/", "there is no .* resets/"),
    "a crossing is dropped": (
        "xdc/crossings.xdc",
        r"(?s)\A.*\Z",
        "",
        "crossing at reset has no exception",
    ),
    "the register is another": (
        "rtl/synchroniser_1.v",
        r"\bfirst\b",
        "one",
        "no .* reset/first_reg",
    ),
    "a boundary is not kept": (
        "rtl/synchroniser_1.v",
        r'\(\* keep_hierarchy = "yes" \*\)\n',
        "",
        r"crossings\.xdc.*synchroniser_1 has no keep_hierarchy",
    ),
    "a wire is left off": (
        "rtl/sample_board.v",
        r"    \.s_axil_awaddr\(.*\n",
        "",
        "core in sample_board: input s_axil_awaddr is left open",
    ),
    "a port of a module is renamed": (
        "rtl/sample_board.v",
        r"\.irq\(",
        ".iraq(",
        "core in sample_board: core has no port iraq",
    ),
    "a port of an IP is renamed": (
        "rtl/sample_board.v",
        r"\.gt_txp_out\(",
        ".gt_tx(",
        "mac in sample_board: mac has no port gt_tx",
    ),
    "an instance is renamed": (
        "rtl/sample_board.v",
        " reset \\(",
        " rest (",
        "no crossing at reset",
    ),
    "a pblock is made twice": (
        "xdc/floorplan.xdc",
        r"\Z",
        "create_pblock pblock_slr0\n",
        "pblock pblock_slr0 is made 2 times",
    ),
    "a pblock that is not there": (
        "xdc/floorplan.xdc",
        r"\Z",
        "resize_pblock [get_pblocks pblock_slr9] -add {SLR0}\n",
        "there is no pblock pblock_slr9",
    ),
    "Tcl that is no constraint": (
        "xdc/clocks.xdc",
        r"\Z",
        "foreach x {1 2} {puts $x}\n",
        "foreach is no constraint",
    ),
    "a query that is none": (
        "xdc/clocks.xdc",
        r"\Z",
        "set_property A b [exec ls]\n",
        "exec is no query",
    ),
    "a brace that is not closed": ("xdc/clocks.xdc", r"\Z", "set x {\n", "is not Tcl"),
    "an IP is dropped": (
        "tcl/ip.tcl",
        r"create_ip .* mac\n",
        "",
        "module mac is placed, but is no file, no IP",
    ),
    "an IP is renamed": (
        "tcl/ip.tcl",
        "-module_name mac",
        "-module_name mc",
        "mc is placed nowhere",
    ),
    "an IP is made twice": (
        "tcl/ip.tcl",
        r"\Z",
        "create_ip -name cmac_usplus -module_name mac\n",
        "IP mac is made 2 times",
    ),
    "IP that is no Tcl": ("tcl/ip.tcl", r"\Z", "[", "ip.tcl is not Tcl"),
    "a file is listed twice": ("filelist.f", r"\Z", "rtl/core.v\n", "lists rtl/core.v twice"),
    "a file is not listed": ("filelist.f", r"rtl/core.v\n", "", "rtl/core.v is not in filelist.f"),
    "a file that is not there": ("filelist.f", r"\Z", "rtl/x.v\n", "lists rtl/x.v, which is not"),
    "constraints are not used": (
        "tcl/project.tcl",
        "clocks.xdc ",
        "",
        "xdc/clocks.xdc is not in project.tcl",
    ),
    "a port of the top is another": (
        "rtl/sample_board.v",
        "hbm_cattrip",
        "hbm_trip",
        "hbm_trip is not in the manifest",
    ),
    "a port of the top is wider": (
        "rtl/sample_board.v",
        r"output wire \[3:0\]",
        "output wire [4:0]",
        r"qsfp0_tx_p is \('output', 5\) in Verilog",
    ),
    "a file is no Verilog": ("rtl/core.v", r"\Z", "module\n", "core.v is not Verilog"),
    "the top is another": (
        "manifest.json",
        '"top": "sample',
        '"top": "simple',
        "no module simple_",
    ),
    "IP-XACT of no module": (
        "component.xml",
        "modelName>core<",
        "modelName>cor<",
        "of cor, which is no module",
    ),
    "IP-XACT with a narrow bus": (
        "component.xml",
        r"(M_AXI_WORDS_0.DATA_WIDTH\">)256",
        r"\g<1>128",
        "m_axi_words_0_rdata of m_axi_words_0 has 256 bits, not 128",
    ),
    "IP-XACT with a wide stream": (
        "component.xml",
        r"(M_AXIS.TDATA_NUM_BYTES\">)64",
        r"\g<1>65",
        "m_axis_tkeep of m_axis has 64 bits, not 65",
    ),
    "IP-XACT with a port renamed": (
        "component.xml",
        "(physicalPort>\\s*<spirit:name>)irq<",
        r"\g<1>iraq<",
        "irq has no port iraq",
    ),
    "IP-XACT with another port": ("component.xml", ">255<", ">254<", "port .* is not as in"),
    "IP-XACT without a file": ("component.xml", "rtl/core.v", "rtl/c.v", "does not list the files"),
    "IP-XACT that is no XML": ("component.xml", r"</spirit:component>", "", "cannot be read"),
}


@pytest.mark.parametrize("what", SPOILED)
def test_what_is_spoiled_is_detected(what, copy):
    name, pattern, by, says = SPOILED[what]
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
