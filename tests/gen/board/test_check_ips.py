"""Widths of IP against its properties; :mod:`tests.gen.board.test_check` spoils a whole package."""

from pathlib import Path

import pytest

from gen.board.check_ips import check_ips, check_widths, config_of
from gen.board.hierarchy import Hierarchy, VerilogModule
from gen.board.tcl import commands
from hdl.u280.vendor import VendorIp, VendorPort

CONVERTER = VendorIp(
    name="narrow",
    vlnv="xilinx.com:ip:axi_dwidth_converter:2.1",
    ports=(
        VendorPort(name="s_axi_wdata", direction="input", bits=512),
        VendorPort(name="m_axi_wdata", direction="output", bits=256),
        VendorPort(name="s_axi_rid", direction="output", bits=4),
    ),
)


def test_properties_of_a_script():
    script = """create_ip -vlnv a:b:c:1 -module_name x
set_property -dict [list \\
    CONFIG.A 1 \\
    CONFIG.B {two words} \\
] [get_ips x]
set_property top y [get_filesets z]"""
    assert config_of(commands(script)) == {"x": {"A": "1", "B": "two words"}}


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({"SI_DATA_WIDTH": "512", "MI_DATA_WIDTH": "256", "SI_ID_WIDTH": "4"}, []),
        ({"SI_DATA_WIDTH": "256"}, ["narrow: s_axi_wdata has 512 bits, SI_DATA_WIDTH is 256"]),
        (
            {"MI_DATA_WIDTH": "512_bit"},
            ["narrow: m_axi_wdata has 256 bits, MI_DATA_WIDTH is 512_bit"],
        ),
        ({"SI_ID_WIDTH": "6"}, ["narrow: s_axi_rid has 4 bits, SI_ID_WIDTH is 6"]),
        ({}, []),
    ],
)
def test_ports_are_as_wide_as_properties_say(config, found):
    assert list(check_widths(CONVERTER, config)) == found


def test_a_module_that_nothing_places(tmp_path):
    script = Path(tmp_path / "ip.tcl")
    script.write_text("")
    modules = {name: VerilogModule(name) for name in ("top", "leaf")}
    found = list(check_ips(script, Hierarchy("top", modules), [], []))
    assert found == ["module leaf is placed nowhere"]
