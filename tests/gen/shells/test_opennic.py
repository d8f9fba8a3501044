"""A plugin of each switch for OpenNIC fits the box's ports; what does not fit is noticed."""

import re
import shutil
from dataclasses import replace

import pytest

from gen.base.errors import UserError
from gen.commands.generating import Order, generate
from gen.designs.catalogue import find_design
from gen.shells.opennic.check import problems
from hdl.opennic.box import box_ports
from tests.gen.console import ingather, without_progress
from tests.long import short_and_long

INST = "box_250mhz/user_plugin_250mhz_inst.vh"
MAP = "box_250mhz/box_250mhz_address_map_inst.vh"


def order(design, preset="", **changes):
    return Order(design=find_design(design), board="opennic", preset=preset, changes=changes)


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin") / "p4sgd"
    generate(order("p4sgd-switch", "tiny"), folder)
    return folder


def test_box_has_the_ports_of_the_shell():
    """The figures are those of src/box_250mhz/box_250mhz.sv with two MACs and two functions."""
    ports = box_ports()
    assert len(ports) == 16 + 4 * 8 + 4 + 3
    assert ports["s_axil_wdata"] == ("input", 32)
    assert ports["s_axis_qdma_h2c_tdata"] == ("input", 1024)
    assert ports["s_axis_qdma_h2c_tready"] == ("output", 2)
    assert ports["m_axis_adap_tx_250mhz_tuser_dst"] == ("output", 32)
    assert ports["m_axis_qdma_c2h_tready"] == ("input", 2)


def test_folder_is_what_the_shell_reads(plugin):
    assert problems(plugin) == []
    names = {path.name for path in (plugin / "box_250mhz").iterdir()}
    assert names == {
        "user_plugin_250mhz_inst.vh",
        "box_250mhz_address_map_inst.vh",
        "box_250mhz_address_map.v",
        "box_250mhz_axi_crossbar.tcl",
    }
    text = (plugin / "README.md").read_text()
    assert "-user_plugin DIR" in text
    assert "| 0x110000 | `opennic` |" in text
    table = (plugin / "box_250mhz" / "box_250mhz_address_map.v").read_text()
    assert "//   0x10000  commands" in table
    assert (plugin / "registers" / "p4sgd_switch" / "registers.json").exists()


def test_a_chosen_card_is_refused(tmp_path):
    with pytest.raises(UserError, match="opennic is not built for a chosen card, such as u50"):
        generate(replace(order("p4sgd-switch", "tiny"), platform="u50"), tmp_path / "new")
    assert not (tmp_path / "new").exists()


OTHERS = ["mina-switch", "switchgnn-switch", "netsparse-switch"]


@pytest.mark.parametrize("design", short_and_long(OTHERS, ["netsparse-switch"]))
def test_every_switch_of_two_ports_is_a_plugin(design, tmp_path):
    generate(order(design, "tiny"), tmp_path / "new")  # which checks the folder
    instance = (tmp_path / "new" / INST).read_text()
    assert re.search(r"^\w+_plugin_\S+ plugin_inst \($", instance, re.M)
    assert len([*(tmp_path / "new" / "registers").glob("*/registers.json")]) == 2


#: file, what is replaced by what, and what is said of it
PLANTS = {
    "port twice": (INST, "  .rst(1'b0),", "  .rst(1'b0),\n  .rst(1'b0),", "lists rst twice"),
    "port missing": (INST, "  .axil_rst(1'b0),\n", "", "axil_rst is not in the instance"),
    "no such port": (INST, ".axil_rst(", ".axil_reset(", "lists axil_reset, which is not there"),
    "width": (INST, "rx_250mhz_tdata[511:0]", "rx_250mhz_tdata[510:0]", "has 512 bits, and"),
    "other half": (INST, "rx_250mhz_tdata[511:0]", "rx_250mhz_tdata[1023:512]", "is not used"),
    "no such net": (INST, "(axil_aclk)", "(axil_clock)", "axil_clock, which the box has not"),
    "driven twice": (INST, "mod_rst_done[0]", "mod_rst_done[1]", "mod_rst_done of the box is"),
    "not driven": (INST, "assign mod_rst_done[15:1]", "assign mod_rst_done[15:2]", "not driven"),
    "input driven": (INST, "c2h_tvalid[0]", "c2h_tready[0]", "c2h_tready is an input of the box"),
    "net": (
        MAP,
        ".m_axil_0_araddr(plugin_axil_0_",
        ".m_axil_0_araddr(plugin_axil_1_",
        "araddr is not",
    ),
    "map's width": (MAP, "wire [31:0] plugin_axil_0_wdata", "wire plugin_axil_0_wdata", "has 1"),
    "module": (INST, "p4sgd_plugin_", "p4sgd_plugins_", "there is no module p4sgd_plugins_"),
    "syntax": (INST, "plugin_inst (", "plugin_inst ((", "what the box includes is not Verilog"),
    "file": (
        "build_box_250mhz.tcl",
        "rtl/synchroniser_1.v",
        "rtl/synch.v",
        "synch.v, which is not",
    ),
}


@pytest.mark.parametrize("name", PLANTS)
def test_what_does_not_fit_is_noticed(plugin, tmp_path, name):
    file, old, new, message = PLANTS[name]
    folder = tmp_path / "plugin"
    shutil.copytree(plugin, folder)
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    assert any(message in line for line in problems(folder)), problems(folder)


@pytest.mark.parametrize(
    ("design", "changes", "message"),
    [
        ("netsparse-snic", {}, "netsparse-snic cannot be a plugin of opennic: it reads and writes"),
        ("p4sgd-worker", {}, "p4sgd-worker cannot be a plugin of opennic: it is no switch"),
        ("p4sgd-switch", {"ports": 4}, "ports can be at most 2, not 4: the shell has two MACs"),
        ("switchgnn-switch", {"tables": "memory"}, "tables must be chip in OpenNIC's box"),
        ("p4sgd-switch", {"slots": 3}, "slots must be a power of two"),
    ],
)
def test_what_cannot_be_is_an_error_of_the_user(tmp_path, design, changes, message):
    with pytest.raises(UserError, match=message):
        generate(order(design, **changes), tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["opennic", "--core-mhz", "200"],
            "cards and kernels: opennic gives the clock",
        ),
        (["openic"], "did you mean opennic? there are: u280, opennic"),
    ],
)
def test_errors_of_the_command_are_a_line(tmp_path, more, message):
    result = ingather("generate", "p4sgd-switch", "-o", str(tmp_path / "new"), "--board", *more)
    assert result.returncode != 0
    (line,) = without_progress(result.stderr).splitlines()
    assert message in line
