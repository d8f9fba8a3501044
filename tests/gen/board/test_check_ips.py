"""Checks widths of IP against its properties; ``test_check`` spoils a whole package."""

from pathlib import Path

from gen.board.check_ips import check_ips, config_of
from gen.board.hierarchy import Hierarchy, VerilogModule
from gen.board.tcl import commands


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
    found = list(check_ips(script, Hierarchy("top", modules), [], []))
    assert found == ["module leaf is placed nowhere"]
