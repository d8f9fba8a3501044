"""Tests a small top's package: what is in it, and what Vivado's stub is told by ``make``."""

import json
import re

import pytest

from gen.base.emission.emit import emit
from gen.board.boards import find_board
from gen.board.package import package_files
from gen.output.folder import check_target
from tests.gen.board.conftest import MODULES, PLACEMENT, package_of, reported_in_one_line
from tests.gen.board.sample import CLOCKING, DESIGN, MAC, CoreParams, SampleBoard

REPORTS = (
    "utilization",
    "utilization_hierarchical",
    "card_clocks",
    "clocks",
    "check_timing",
    "timing",
    "bus_skew",
    "pulse_width",
    "clock_crossings",
    "methodology",
    "drc",
    "route_status",
    "qor_assessment",
    "qor_suggestions",
)


def test_all_files_are_in_the_manifest_and_our_own(package):
    manifest = json.loads((package / "manifest.json").read_text())
    present = {str(p.relative_to(package)) for p in package.rglob("*") if p.is_file()}
    assert present == {*manifest["files"], "manifest.json"}
    assert manifest["board"] == {
        "name": "u280",
        "part": "xcu280-fsvh2892-2L-e",
        "core_mhz": 250.0,
    }
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
        "CFGBVS": "GND",
        "CONFIG_MODE": "SPIx4",
        "BITSTREAM.GENERAL.COMPRESS": "TRUE",
        "BITSTREAM.CONFIG.CONFIGFALLBACK": "ENABLE",
        "BITSTREAM.CONFIG.SPI_BUSWIDTH": "4",
        "BITSTREAM.CONFIG.SPI_32BIT_ADDR": "YES",
        "BITSTREAM.CONFIG.CONFIGRATE": "85.0",
        "BITSTREAM.CONFIG.SPI_FALL_EDGE": "YES",
        "BITSTREAM.CONFIG.EXTMASTERCCLK_EN": "DISABLE",
        "BITSTREAM.CONFIG.UNUSEDPIN": "PULLUP",
        "BITSTREAM.CONFIG.OVERTEMPSHUTDOWN": "ENABLE",
    }
    assert "set_operating_conditions -design_power_budget 160" in text


def test_readme_says_what_a_user_needs(package):
    text = (package / "README.md").read_text()
    for needed in (
        "make bitstream",
        "no Vivado has seen",
        "The address map: nothing at 0.",
        "| `core` | 250.0 | `clocking/clk_out1` |",
        "cmac_usplus 3.1",
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


def test_make_bitstream_reports_vivado_everything(package, copy, vivado):
    result, reported = vivado(copy, "bitstream", modules=MODULES)
    assert result.returncode == 0, result.stderr
    assert (copy / "build" / "sample_board.bit").exists()
    for ip in (CLOCKING, MAC):
        vendor, library, kind, _ = ip.vlnv.split(":")
        built = f"create_ip -vendor {vendor} -library {library} -name {kind}"
        assert f"{built} -module_name {ip.name}" in reported
        assert f"generate_target all {ip.name}" in reported
    values = "CONFIG.PRIM_IN_FREQ 100.000 CONFIG.CLKOUT1_REQUESTED_OUT_FREQ {250 {really}}"
    assert f"set_property -dict {{{values}}} clocking" in reported
    added = " ".join(line for line in reported if line.startswith("add_files"))
    for path in (*package.glob("rtl/*.v"), *package.glob("xdc/*.xdc")):
        assert f"/{path.parent.name}/{path.name}" in added
    assert "set_property top sample_board sources_1" in reported
    for late in ("crossings.xdc", "floorplan.xdc"):
        assert f"set_property PROCESSING_ORDER LATE {{{copy}/xdc/{late}}}" in reported
    assert "create_clock -name board -period 10.000 clk_100mhz_0_p" in reported
    reports = {path.name for path in (copy / "reports").iterdir()}
    assert reports == {f"{name}.rpt" for name in REPORTS}

    result, reported = vivado(copy, "bitstream", modules=MODULES)
    assert (result.returncode, reported) == (0, [])  # nothing has changed
    result, reported = vivado(copy, "reports", modules=MODULES)
    assert result.returncode == 0
    assert any(line.startswith("report_timing_summary") for line in reported)
    result, _ = vivado(copy, "clean", modules=MODULES)
    assert result.returncode == 0
    check_target(copy)


def test_make_shows_what_it_would_do(copy, vivado):
    result, reported = vivado(copy, "-n", "bitstream", modules=())
    assert result.returncode == 0
    assert re.findall(r"-source (\S+)", result.stdout) == ["tcl/project.tcl", "tcl/build.tcl"]
    assert reported == []
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
        ({"failing": "synth_1 synth_1"}, "synth_1 ended with: stub"),
        ({"version": "2019.2"}, "Vivado 2019.2: this package is for 2020.2 to 2023.2"),
        ({"version": "2024.1"}, "Vivado 2024.1: this package is for 2020.2 to 2023.2"),
        ({"parts": "xcu250-figd2104-2L-e"}, "Vivado has no part xcu280-fsvh2892-2L-e: add"),
        ({"ips": "clk_wiz 6.1 cmac_usplus 3.1"}, "IP clocking is version 6.1 here, and not 6.0"),
    ],
)
def test_a_failing_build_ends_with_an_error(how, says, copy, vivado):
    result, _ = vivado(copy, "bitstream", **{"modules": MODULES, **how})
    assert result.returncode == 2
    assert reported_in_one_line(result).startswith(says)
    assert not (copy / "build" / "sample_board.bit").exists()


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"modules": ("clocking",)}, "nothing instantiates mac"),
        ({"ips": "clk_wiz 6.0"}, "there is no IP cmac_usplus in the catalogue"),
    ],
)
def test_what_vivado_refuses_ends_the_build(how, says, copy, vivado):
    result, _ = vivado(copy, "bitstream", **{"modules": MODULES, **how})
    assert result.returncode == 2
    assert says in result.stderr
    assert not (copy / "build" / "sample_board.bit").exists()


def test_a_run_that_dies_is_tried_again(copy, vivado):
    result, reported = vivado(copy, "bitstream", modules=MODULES, failing="synth_1 impl_1")
    assert result.returncode == 0, result.stderr
    for run in ("synth_1", "impl_1"):
        assert reported.count(f"launch_runs {run} -jobs 4") == 2


def test_the_card_gets_the_bitstream(copy, vivado):
    result, reported = vivado(copy, "program", modules=MODULES)
    assert result.returncode == 0, result.stderr
    assert f"set_property PROGRAM.FILE {{{copy}/build/sample_board.bit}} xcu280_0" in reported
    assert reported[-2:] == ["program_hw_devices xcu280_0", "close_hw_manager"]
    result, reported = vivado(copy, "program", modules=MODULES, devices="xcu250_0")
    assert reported_in_one_line(result).startswith("0 devices xcu280 on localhost:3121, not one")
    result, _ = vivado(copy, "program", "SERVER=elsewhere:1", modules=MODULES)
    assert "no hw_server there" in result.stderr


def test_the_flash_gets_a_file(copy, vivado):
    result, reported = vivado(copy, "mcs", modules=MODULES)
    assert result.returncode == 0, result.stderr
    (line,) = (line for line in reported if line.startswith("write_cfgmem"))
    assert "-interface SPIx4 -size 128 -loadbit {up 0x01002000" in line
    assert (copy / "build" / "sample_board.mcs").exists()


@pytest.mark.parametrize(
    ("name", "added", "says"),
    [
        ("tcl/project.tcl", "set_propperty a b c", "invalid command name"),
        ("tcl/project.tcl", "set_property no_such 1 [current_project]", "no property no_such"),
        ("tcl/project.tcl", "add_files -fileset sources_1 nothing.v", "no file nothing.v"),
        ("tcl/project.tcl", "get_ips ghost", "there is no ip ghost"),
        ("tcl/ip.tcl", "create_ip -name clk_wiz -module_name mac", "mac is there already"),
        (
            "tcl/ip.tcl",
            "set_property -dict {CONFIG.PRIM_FREQ 1} [get_ips clocking]",
            "clk_wiz has no property PRIM_FREQ",
        ),
        (
            "tcl/ip.tcl",
            "set_property -dict {CONFIG.PRIM_SOURCE Pin} [get_ips clocking]",
            "clk_wiz: PRIM_SOURCE cannot be Pin",
        ),
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
