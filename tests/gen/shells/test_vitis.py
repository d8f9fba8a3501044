"""Tests ``ingather generate --board vitis``: what is written, its checks, and what builds it."""

import json
import re
import shutil

import pytest

from gen.base.errors import UserError
from gen.board import placement
from gen.board.boards import find_board
from gen.commands.generating import Order, generate
from gen.designs.catalogue import find_design
from gen.shells.shells import SHELLS
from gen.shells.vitis.check import problems
from gen.synth.clock_timing import ClockTiming
from gen.synth.depth import Depth
from gen.synth.resources import Resources
from gen.synth.synthesis import Synthesis
from tests.gen.console import ingather
from tests.long import short_and_long
from tests.xrt import compiled, needs_xrt

COMMAND = ("generate", "p4sgd-worker", "--board", "vitis")
SOURCE = "p4sgd_worker_host/xrt_registers.cpp"


@pytest.fixture(scope="session")
def kernel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel") / "made"
    result = ingather(*COMMAND, "--preset", "tiny", "-o", folder)
    assert (result.returncode, "worker_kernel" in result.stdout) == (0, True)
    return folder


OTHERS = {
    "gather-engine": {"HOST[0]", "HBM[0]"},
    "switchgnn-endpoint": {"HBM[0]", "HBM[10]", "HBM[21]"},
    "netsparse-snic": {"HOST[0]", "HBM[0]"},
    "p4sgd-switch": set(),
    "mina-switch": set(),
    "switchgnn-switch": set(),
    "netsparse-switch": set(),
}


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Return what writes the kernel of a design, once."""
    root = tmp_path_factory.mktemp("kernels")

    def written(name):
        if not (root / name).exists():
            order = Order(design=find_design(name), board="vitis", preset="tiny", changes={})
            generate(order, root / name)  # which checks the folder
        return root / name

    return written


@pytest.mark.parametrize("design", short_and_long(OTHERS, ["netsparse-snic", "netsparse-switch"]))
def test_every_design_with_registers_is_a_kernel(folders, design):
    folder = folders(design)
    text = (folder / "connectivity.cfg").read_text()
    assert {*re.findall(r"^sp=\S+:(\S+)$", text, re.M)} == OTHERS[design]
    ports = {"switch": 2, "engine": 0}.get(design.rpartition("-")[2], 1)
    assert len(re.findall(r"^stream_connect=", text, re.M)) == 2 * ports
    cmacs = re.findall(r"/(cmac_\d)\.xo", (folder / "Makefile").read_text())
    assert cmacs == [f"cmac_{k}" for k in range(ports)]
    xml = (folder / "kernel.xml").read_text()
    assert ('interrupt="true"' in xml) == (ports < 2)
    readme = (folder / "README.md").read_text()
    assert ("rate is the shell's" in readme) == ("HOST[0]" in OTHERS[design])
    assert 'if ".xclbin" in' in next(folder.glob("*_host/__init__.py")).read_text()


@pytest.mark.parametrize(
    ("design", "file", "old", "new", "line"),
    [
        ("netsparse-snic", "connectivity.cfg", "HOST[0]", "HOST[1]", "no memory HOST[1]"),
        ("netsparse-snic", "kernel.xml", 'interrupt="true"', 'interrupt="false"', "for interrupt"),
        ("netsparse-switch", "kernel.xml", '="false"', '="true"', "has no output interrupt"),
        ("netsparse-switch", "connectivity.cfg", "cmac_1.S_", "cmac_0.S_", "cmac_0.S_AXIS twice"),
        ("netsparse-switch", "connectivity.cfg", "cmac_1.S_", "cmac_0.S_", "cmac_1.S_AXIS is not"),
        ("netsparse-switch", "connectivity.cfg", "0.s_axis_1", "0.s_axis_0", "0.s_axis_0 twice"),
        ("netsparse-switch", "connectivity.cfg", "nk=cmac_1:1:cmac_1\n", "", "lists cmac_1.M_"),
    ],
)
def test_what_does_not_fit_another_design_is_reported(
    folders, tmp_path, design, file, old, new, line
):
    spoil(folders(design), tmp_path, file, old, new)
    assert any(line in each for each in problems(tmp_path / "copy"))


class Estimate(Synthesis):
    """Says nothing but what paths allow."""

    total, depth, crowded = Resources(), Depth(), ()

    def describe(self):
        return None


def test_a_clock_that_paths_do_not_allow_is_said(tmp_path, monkeypatch):
    path = ClockTiming(name="sync", mhz=250, module="top", depth=Depth(most_levels=7))
    estimate = Estimate(modules={}, clocks=(path,))
    monkeypatch.setattr(placement, "estimated", lambda *_: estimate)
    fast = {"board": "vitis", "preset": "tiny", "core_mhz": 300, "estimate": True, "changes": {}}
    written = generate(Order(design=find_design("p4sgd-switch"), **fast), tmp_path / "fast")
    (line,) = written.misfits
    assert line.startswith("7 levels on a path of clock sync, 6 are the most at 300 MHz")
    readme = (tmp_path / "fast" / "README.md").read_text()
    assert "**It may miss its clock**: by the estimate its paths allow 281 MHz." in readme
    board = json.loads((tmp_path / "fast" / "manifest.json").read_text())["board"]
    assert (board["core_mhz"], board["allowed_mhz"]) == (300, 281)
    assert "KERNEL_MHZ ?= 300\n" in (tmp_path / "fast" / "Makefile").read_text()
    assert "300 MHz" in (tmp_path / "fast" / "datasheet.html").read_text()


CARDS = {"u55c": ("HBM[21]", 1), "u50": ("HBM[21]", 1), "u250": ("DDR[2]", 2)}


@pytest.mark.parametrize("card", short_and_long(CARDS, ["u55c", "u50"]))
def test_a_kernel_is_linked_for_another_card(tmp_path, card):
    """The buffer of the model is the last of three, which lie as far apart as can be."""
    model, slr = CARDS[card]
    result = ingather(*COMMAND, "--preset", "tiny", "--platform", card, "-o", tmp_path / "new")
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "new"
    text = (folder / "connectivity.cfg").read_text()
    assert f"m_axi_model:{model}\n" in text
    assert f"slr=cmac_0:SLR{slr}\n" in text
    assert ("slr=worker_0:SLR0" in text) == (card != "u250")
    host = (folder / "p4sgd_worker_host" / "__init__.py").read_text()
    assert re.search(r'banks=\(.* "(\S+)",\),', host)[1] == model
    board = json.loads((folder / "manifest.json").read_text())["board"]
    assert f"_{card}_" in board["name"]
    assert f"-part {board['part']}\n" in (folder / "tcl" / "package_kernel.tcl").read_text()
    assert f"xc{card}-" in board["part"]
    (folder / "connectivity.cfg").write_text(text.replace("[0]", "[32]").replace("HBM", "DDR"))
    assert any("there is no memory DDR[" in each for each in problems(folder))


@pytest.mark.parametrize(
    ("design", "options", "line"),
    [
        ("p4sgd-switch", ("vitis", "--platform", "u50"), "has 2 ports, and an Alveo U50 has one"),
        ("p4sgd-worker", ("vitis", "--platform", "u51"), "no platform 'u51'; did you mean u50?"),
        (
            "p4sgd-worker",
            ("vitis", "--platform", "u50", "--set", "slrs=3", "--set", "engines=3"),
            "p4sgd-worker lies on 3 dies, and an Alveo U50 has 2: --set slrs=2",
        ),
        ("p4sgd-switch", ("opennic", "--platform", "u50"), "--platform needs --board vitis"),
    ],
)
def test_another_card_is_refused_in_one_line(tmp_path, design, options, line):
    folder = tmp_path / "new"
    result = ingather("generate", design, "--preset", "tiny", "--board", *options, "-o", folder)
    assert (result.returncode, folder.exists()) == (2, False)
    assert line in result.stderr.splitlines()[-1]


def spoil(folder, tmp_path, file, old, new):
    """Copy a folder; replace a text of a file by another."""
    shutil.copytree(folder, tmp_path / "copy")
    path = tmp_path / "copy" / file
    path = next(path.glob("worker_kernel*.v")) if file == "rtl" else path
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new, 1))


def test_a_preset_lies_on_as_many_dies_as_on_the_card():
    """A kernel of one die is bound to it, where the memories of ``u280`` would not fit."""
    design = find_design("p4sgd-worker")
    targets = SHELLS["vitis"].find(design.name), find_board("u280").find(design.name)
    for preset in design.presets:
        shell, card = (target.settings_of(preset).get("slrs", 1) for target in targets)
        assert shell == card


def test_it_fits_its_verilog(kernel):
    assert problems(kernel) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "line"),
    [
        ("kernel.xml", 'kernel name="', 'kernel name="x', "kernel.xml is not of worker_kernel"),
        ("kernel.xml", 'range="0x2000"', 'range="0x4000"', "s_axi_control: araddr is"),
        ("kernel.xml", 'range="0x2000"', 'range="0x20000"', "more than 65536 bytes"),
        ("kernel.xml", 'port name="m_axi_model"', 'port name="m_axi_labels"', "labels twice"),
        ("kernel.xml", 'port name="m_axis"', 'port name="m_axes"', "m_axes, which is not in the"),
        ("kernel.xml", 'port name="m_axis"', 'port name="m_axes"', "has no port for m_axis_tdata"),
        ("kernel.xml", 'dataWidth="256"', 'dataWidth="128"', "m_axi_words_0: rdata is"),
        ("kernel.xml", 'dataWidth="512"', 'dataWidth="384"', "no power of two: 384"),
        ("kernel.xml", 'mode="write_only"', 'mode="read_only"', "m_axis: tdata is"),
        ("kernel.xml", 'port="m_axi_model"', 'port="m_axi_odd"', "m_axi_odd, which is no port"),
        ("kernel.xml", 'port="m_axi_model"', 'port="m_axi_labels"', "m_axi_labels has 2 arguments"),
        ("kernel.xml", 'offset="0x1034"', 'offset="0x1036"', "cannot be at 0x1036"),
        ("kernel.xml", 'offset="0x1034"', 'offset="0x2000"', "cannot be at 0x2000"),
        ("kernel.xml", 'offset="0x1034"', 'offset="0x103C"', "cannot be at 0x103c"),
        ("kernel.xml", "</root>", "", "the package cannot be read"),
        ("connectivity.cfg", "nk=worker", "nk=walker", "connectivity.cfg has no kernel worker_k"),
        ("connectivity.cfg", "m_axi_model:", "m_axi_modal:", "m_axi_model is not in sp"),
        ("connectivity.cfg", "m_axi_model:", "m_axi_modal:", "sp lists worker_0.m_axi_modal"),
        ("connectivity.cfg", "m_axi_model:", "m_axi_labels:", "sp has worker_0.m_axi_labels twice"),
        ("connectivity.cfg", "HBM[0]", "HBM[32]", "there is no memory HBM[32]"),
        ("connectivity.cfg", "worker_0.s_axis", "cmac_0.s_axis", "s_axis is not in stream_connect"),
        ("rtl", "input wire ap_clk", "output wire ap_clk", "the Verilog has no input ap_clk"),
    ],
)
def test_what_does_not_fit_is_reported(kernel, tmp_path, file, old, new, line):
    spoil(kernel, tmp_path, file, old, new)
    assert any(line in each for each in problems(tmp_path / "copy"))


LINKER = """#!/bin/sh
echo v++ "$@" >> $STUB_LOG
while [ "$1" != -o ]; do shift; done
touch $2
"""
VNX = """# as VNx's: both interfaces if 3, in no order that we know
all:
	echo vnx $(INTERFACE) >> $$STUB_LOG; mkdir -p _x.$(DEVICE)
	for k in $(INTERFACE:3=1 0); do touch _x.$(DEVICE)/cmac_$$k.xo; done
"""


def stand_ins(folder):
    """Add a linker, and a checkout of VNx's; return the latter."""
    vnx = folder / "copy" / "vnx" / "Ethernet"
    vnx.mkdir(parents=True)
    (vnx / "Makefile").write_text(VNX)
    (folder / "bin" / "v++").write_text(LINKER)
    (folder / "bin" / "v++").chmod(0o755)
    return vnx


def test_vivado_and_vitis_build_it(kernel, tmp_path, vivado):
    """Their stubs, that is: make calls them with options that their documents have."""
    shutil.copytree(kernel, tmp_path / "copy")
    vnx = stand_ins(tmp_path)
    result, _ = vivado(tmp_path / "copy", "xclbin", modules=[])
    assert (result.returncode, "set VNX to a checkout" in result.stderr) == (2, True)
    result, reported = vivado(tmp_path / "copy", "xclbin", "VNX=vnx", modules=[])
    assert result.returncode == 0, result.stderr
    busses = [line for line in reported if line.startswith("ipx::associate_bus_interfaces -busif")]
    names = re.findall(r'port name="(\w+)"', (kernel / "kernel.xml").read_text())
    assert [line.split()[2] for line in busses] == names
    (packaged,) = [line for line in reported if line.startswith("package_xo")]
    assert packaged.endswith("kernel.xml")
    assert reported[-1].startswith("v++ -l -t hw --platform xilinx_u280_gen3x16_xdma_1_202211_1")
    assert "--config connectivity.cfg --advanced.param" in reported[-1]
    script = re.search(r"compiler\.userPostSysLinkOverlayTcl=(\S+)", reported[-1])
    assert script[1] == f"{vnx.resolve()}/post_sys_link.tcl"  # it connects cages to cmacs
    assert "--kernel_frequency 250 -o build/" in reported[-1]


def test_two_cmacs_are_built_once(folders, tmp_path, vivado):
    shutil.copytree(folders("p4sgd-switch"), tmp_path / "copy")
    vnx, runs = stand_ins(tmp_path), []
    for lost in ("*", "cmac_0.xo", "cmac_1.xo", "none"):
        for path in vnx.glob(f"_x.*/{lost}"):
            path.unlink()
        result, reported = vivado(tmp_path / "copy", "-j4", "xclbin", "VNX=vnx", modules=[])
        assert result.returncode == 0, result.stderr
        runs.append(sum(line == "vnx 3" for line in reported))
        linked = any(line.startswith("v++") for line in reported)
        assert linked == (lost != "none")
    assert runs == [1, 1, 1, 0]


@pytest.mark.parametrize(
    ("design", "how", "line"),
    [
        ("p4sgd-worker", {"preset": "u280-16"}, "managers must be at most 32: 34"),
        ("p4sgd-engine", {}, "p4sgd-engine cannot be a kernel of vitis: it has no registers; use"),
        ("p4sgd-switch", {"changes": {"ports": 4}}, "ports can be at most 2, not 4: the card has"),
        ("switchgnn-switch", {"changes": {"tables": "memory"}}, "tables must be chip in a kernel"),
        ("netsparse-snic", {"changes": {"host_bus": "pcie"}}, "host_bus must be axi in a kernel"),
        ("gather-engine", {"changes": {"host_bus": "pcie"}}, "host_bus must be axi in a kernel"),
        ("gather-engine", {"changes": {"outputs": "both"}}, "outputs must be axi in a kernel"),
        ("netsparse-snic", {"preset": "paper"}, "dram_address_bits must be at most 28 in a kernel"),
    ],
)
def test_what_cannot_be_is_one_line(design, how, line):
    order = Order(design=find_design(design), board="vitis", **{"changes": {}, **how})
    with pytest.raises(UserError, match=line):
        order.target.make(order.params())


@needs_xrt
def test_registers_link_against_xrt(kernel, tmp_path):
    compiled(kernel / SOURCE, tmp_path / "library.so", "-shared", "-fPIC")


@needs_xrt
@pytest.mark.parametrize("design", ["netsparse-snic", "netsparse-switch"])
def test_an_example_without_a_model_compiles(folders, design, tmp_path):
    compiled(folders(design) / "example.cpp", tmp_path / "example")
