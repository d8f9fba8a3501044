"""The package of a small top: what is in it, and what Vivado's stub is told by ``make``."""

import json
import re

import pytest

from gen.board.boards import find_board
from gen.board.package import package_files
from gen.emit import emit
from gen.folder import check_target
from tests.gen.board.conftest import PLACEMENT, package_of
from tests.gen.board.sample import CLOCKING, DESIGN, MAC, CoreParams, SampleBoard

MODULES = ("sample_board", "core", "cage", "synchroniser_1", "clocking", "mac")


def test_all_files_are_in_the_manifest_and_ours(package):
    manifest = json.loads((package / "manifest.json").read_text())
    there = {str(p.relative_to(package)) for p in package.rglob("*") if p.is_file()}
    assert there == {*manifest["files"], "manifest.json"}
    assert manifest["board"] == {"name": "u280", "part": "xcu280-fsvh2892-2L-e"}
    check_target(package)  # may be written again


def test_the_same_parameters_give_the_same_bytes(package, tmp_path):
    again = emit(SampleBoard(CoreParams()))
    other = package_of(again, DESIGN, find_board("u280"), tmp_path / "other", PLACEMENT)
    for path in package.rglob("*"):
        if path.is_file():
            assert (other / path.relative_to(package)).read_bytes() == path.read_bytes()


def test_nothing_is_written_if_something_does_not_fit(tmp_path):
    class Strange(SampleBoard):
        clocks = SampleBoard.clocks[1:]

    with pytest.raises(ValueError, match="port clk_100mhz_0_p has no clock"):
        package_of(emit(Strange(CoreParams())), DESIGN, find_board("u280"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_configuration_is_the_cards(package):
    text = (package / "xdc" / "configuration.xdc").read_text()
    said = dict(re.findall(r"set_property (\S+) (\S+) \[current_design\]", text))
    assert said == {
        "CONFIG_VOLTAGE": "1.8",
        "CONFIG_MODE": "SPIx4",
        "BITSTREAM.GENERAL.COMPRESS": "TRUE",
        "BITSTREAM.CONFIG.SPI_BUSWIDTH": "4",
        "BITSTREAM.CONFIG.SPI_32BIT_ADDR": "YES",
        "BITSTREAM.CONFIG.CONFIGRATE": "85.0",
        "BITSTREAM.CONFIG.EXTMASTERCCLK_EN": "DISABLE",
        "BITSTREAM.CONFIG.UNUSEDPIN": "PULLUP",
        "BITSTREAM.CONFIG.OVERTEMPSHUTDOWN": "ENABLE",
    }


def test_readme_says_what_a_user_needs(package):
    text = (package / "README.md").read_text()
    for needed in (
        "make bitstream",
        "no Vivado has seen",
        "The address map: nothing at 0.",
        "| `core` | 250.0 | `clocking/clk_out1` |",
        "xilinx.com:ip:cmac_usplus:3.1",
        "licence",
        "floorplan.svg",
    ):
        assert needed in text
    for name in re.findall(r"`([\w/]+\.\w+)`", text):
        assert any((package / folder / name).exists() for folder in (".", "tcl", "xdc")), name
    assert "sample_core_driver.py" in text


def test_without_a_floorplan(emission):
    files = package_files(emission, find_board("u280"), DESIGN, None)
    assert "xdc/floorplan.xdc" not in files
    assert "floorplan" not in files["tcl/project.tcl"] + files["README.md"]


def test_make_bitstream_tells_vivado_everything(package, copy, vivado):
    result, told = vivado(copy, "bitstream", modules=MODULES)
    assert result.returncode == 0, result.stderr
    assert (copy / "build" / "sample_board.bit").exists()
    for ip in (CLOCKING, MAC):
        assert f"create_ip -vlnv {ip.vlnv} -module_name {ip.name}" in told
        assert f"generate_target all {ip.name}" in told
    values = "CONFIG.PRIM_IN_FREQ 100.000 CONFIG.CLKOUT1_REQUESTED_OUT_FREQ {250 {really}}"
    assert f"set_property -dict {{{values}}} clocking" in told
    added = " ".join(line for line in told if line.startswith("add_files"))
    for path in (*package.glob("rtl/*.v"), *package.glob("xdc/*.xdc")):
        assert f"/{path.parent.name}/{path.name}" in added
    assert "set_property top sample_board sources_1" in told
    for late in ("crossings.xdc", "floorplan.xdc"):
        assert f"set_property PROCESSING_ORDER LATE {{{copy}/xdc/{late}}}" in told
    assert "create_clock -name board -period 10.000 clk_100mhz_0_p" in told
    reports = {path.name for path in (copy / "reports").iterdir()}
    assert {"utilization.rpt", "utilization_hierarchical.rpt", "timing.rpt"} <= reports

    result, told = vivado(copy, "bitstream", modules=MODULES)
    assert (result.returncode, told) == (0, [])  # nothing has changed
    result, told = vivado(copy, "reports", modules=MODULES)
    assert result.returncode == 0
    assert any(line.startswith("report_timing_summary") for line in told)
    result, _ = vivado(copy, "clean", modules=MODULES)
    assert result.returncode == 0
    check_target(copy)


def test_make_shows_what_it_would_do(copy, vivado):
    result, told = vivado(copy, "-n", "bitstream", modules=())
    assert result.returncode == 0
    assert re.findall(r"-source (\S+)", result.stdout) == ["tcl/project.tcl", "tcl/build.tcl"]
    assert told == []
    result, _ = vivado(copy, modules=())
    assert "make bitstream" in result.stdout


def test_make_without_vivado_says_so(copy, vivado):
    result, _ = vivado(copy, "bitstream", modules=(), path="/usr/bin")
    assert result.returncode == 2
    assert "vivado is not on PATH" in result.stderr
    assert not (copy / "build").exists()
    result, _ = vivado(copy, "reports", modules=())
    assert "there is no project; make bitstream first" in result.stderr


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"slack": "-0.2"}, "timing is not met, by 0.2 ns"),
        ({"failing": "synth_1"}, "synth_1 ended with: stub"),
        ({"modules": ("clocking",)}, "nothing instantiates mac"),
    ],
)
def test_a_failing_build_ends_with_an_error(how, says, copy, vivado):
    result, _ = vivado(copy, "bitstream", **{"modules": MODULES, **how})
    assert result.returncode == 2
    assert f"ERROR: {says}" in result.stderr
    assert not (copy / "build" / "sample_board.bit").exists()


@pytest.mark.parametrize(
    ("name", "added", "says"),
    [
        ("tcl/project.tcl", "set_propperty a b c", "invalid command name"),
        ("tcl/project.tcl", "set_property no_such 1 [current_project]", "no property no_such"),
        ("tcl/project.tcl", "add_files -fileset sources_1 nothing.v", "no file nothing.v"),
        ("tcl/project.tcl", "get_ips ghost", "there is no ip ghost"),
        ("tcl/ip.tcl", "create_ip -vlnv a:b:c:1 -module_name mac", "mac is there already"),
        ("xdc/floorplan.xdc", "resize_pblock ghost -add SLR0", "there is no pblock ghost"),
        ("xdc/clocks.xdc", "create_clock -period 0 [get_ports a]", "create_clock"),
        ("xdc/clocks.xdc", "set_false_path -form [get_ports a]", "has no option -form"),
    ],
)
def test_the_stub_refuses_what_vivado_would(name, added, says, copy, vivado):
    with (copy / name).open("a") as file:
        file.write(f"{added}\n")
    result, _ = vivado(copy, "bitstream", modules=MODULES)
    assert result.returncode == 2
    assert says in result.stderr
