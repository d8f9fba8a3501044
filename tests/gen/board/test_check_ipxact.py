"""Checks IP and IP-XACT; :mod:`tests.gen.board.test_check` spoils a whole package."""

from pathlib import Path

import pytest

from gen.board.check_ips import check_ips, config_of
from gen.board.check_ipxact import check_component, widths_of
from gen.board.hierarchy import Hierarchy, VerilogModule, read_verilog
from gen.board.tcl import commands


def test_the_packages_own_fits(package):
    modules = read_verilog(package.glob("rtl/*.v"))
    assert list(check_component(package / "component.xml", modules, package)) == []


def test_no_file(package, tmp_path):
    (line,) = check_component(tmp_path / "component.xml", {}, tmp_path)
    assert "cannot be read" in line


def test_files_that_are_not_there(package, tmp_path):
    modules = read_verilog(package.glob("rtl/*.v"))
    lines = list(check_component(package / "component.xml", modules, tmp_path))
    assert lines == ["component.xml lists rtl/core.v, which is not there"]


@pytest.mark.parametrize(
    ("values", "widths"),
    [
        (
            {"DATA_WIDTH": "64", "ADDR_WIDTH": "20", "ID_WIDTH": "3"},
            {"WDATA": 64, "RDATA": 64, "WSTRB": 8, "AWADDR": 20, "ARADDR": 20}
            | {"AWID": 3, "ARID": 3, "BID": 3, "RID": 3},
        ),
        (
            {"TDATA_NUM_BYTES": "64", "TUSER_WIDTH": "1"},
            {"TDATA": 512, "TKEEP": 64, "TUSER": 1},
        ),
        ({"FREQ_HZ": "1"}, {}),
    ],
)
def test_widths_that_follow_from_parameters(values, widths):
    assert widths_of(values) == widths


def test_properties_of_a_script():
    script = """create_ip -name c -module_name x
set_property -dict [list \\
    CONFIG.A 1 \\
    CONFIG.B {two words} \\
] [get_ips x]
set_property top y [get_filesets z]"""
    assert config_of(commands(script)) == {"x": {"A": "1", "B": "two words"}}


def test_a_module_that_nothing_places(tmp_path):
    script = Path(tmp_path / "ip.tcl")
    script.write_text("")
    modules = {name: VerilogModule(name) for name in ("top", "leaf")}
    result = list(check_ips(script, Hierarchy("top", modules), [], []))
    assert result == ["module leaf is placed nowhere"]
