"""Tests ``ingather generate --board``: each design is built by ``make`` with Vivado's stub."""

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import textwrap
from functools import cache, partial

import pytest

from gen.board import placement
from gen.board.boards import BOARDS
from gen.board.ip_table import FOLDER
from hdl.switchgnn.endpoint.bundles import State
from tests.gen.board.conftest import cells_below
from tests.gen.console import ingather, tree, without_progress
from tests.long import long, short_and_long

FINISHED = {"state": State.FINISHED.value}  #: of an endpoint's job
BOARD = ("--board", "u280", "--no-estimate")


#: what report_cdc says of a crossing's module: rule, beginning and end of a path in it
PATHS = {
    "gray_crossing": ("CDC-6  Warning", "gray_reg[3:0]/C", "first_reg[3:0]/D"),
    "synchroniser": ("CDC-6  Warning", "../status_reg[1:0]/C", "first_reg[1:0]/D"),
    "reset_synchroniser": ("CDC-10  Critical", "../locked_reg/C", "stages_reg[0]/PRE"),
    "async_fifo": ("CDC-1  Critical", "words_reg_0_31_0_13/RAMA/CLK", "payload_reg[0]/D"),
}


def crossings_report(folder):
    """Return what report_cdc says if each crossing of a package has a path."""
    counts, rows = [], []
    for path, module in cells_below(folder):
        kind = next((kind for kind in PATHS if re.fullmatch(rf"{kind}_[\dx]+", module)), None)
        if kind:
            rule, start, end = PATHS[kind]
            counts.append(f"{rule}  1  text")
            rows.append(f"{len(rows) + 1}  {rule}  text  0  None  {path}/{start}  {path}/{end}")
    assert len(rows) > 5
    return "\n".join(["ID  Severity  Count  Description", *counts, *rows])


def build(folder, vivado):
    script = (folder / "tcl" / "ip.tcl").read_text()
    modules = re.findall(r"-module_name (\w+)", script)
    reports = f"cdc {{{crossings_report(folder)}}}"
    result, reported = vivado(folder, "bitstream", modules=modules, tables=FOLDER, reports=reports)
    assert result.returncode == 0, result.stderr
    return reported


def properties(reported, pattern):
    return [line for line in reported if re.match(rf"set_property {pattern}", line)]


def generate(design, folder):
    result = ingather("generate", design, "--preset", "tiny", *BOARD, "-o", folder)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("\n") == 1
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Generate each design, as small as it gets, once."""
    parent = tmp_path_factory.mktemp("small")
    return cache(lambda design: generate(design, parent / design))


CROSSINGS = re.compile(
    r"(synchroniser|reset_synchroniser|gray_crossing|async_fifo|fifo_words|output_lane"
    r"|(stream|wire)_pipeline)_[\dx_]+"
)


def assert_crossings_alone_are_kept(folder):
    """Check that synthesis keeps only boundaries of crossings, of clocks and of dies."""
    texts = {path.stem: path.read_text() for path in (folder / "rtl").glob("*.v")}
    stored = {name for name, text in texts.items() if "keep_hierarchy" in text}
    assert stored == {name for name in texts if CROSSINGS.fullmatch(name)}
    assert len(stored) > 5
    for name in stored:
        assert f'(* keep_hierarchy = "yes" *)\nmodule {name} (' in texts[name]


SHORT = "p4sgd-switch"  #: the smallest; the others' Verilog is emitted for their ports' lists


@pytest.mark.parametrize("design", short_and_long(sorted(BOARDS["u280"].designs), [SHORT]))
def test_a_small_design_is_built_by_one_command(design, small, tmp_path, vivado):
    folder = tmp_path / "out"
    shutil.copytree(small(design), folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["board"]["name"] == "u280"
    assert {"hbm_cattrip", "pcie_reset_n"} <= {port["name"] for port in manifest["ports"]}
    assert {"registers.json", "component.xml", "core.html"} <= set(manifest["files"])
    reported = build(folder, vivado)
    assert properties(reported, r"STEPS.SYNTH_DESIGN.ARGS.FLATTEN_HIERARCHY rebuilt")
    assert_crossings_alone_are_kept(folder)
    result, _ = vivado(folder, "program", "mcs", "evidence", modules=())
    assert result.returncode == 0, result.stderr
    for name in (f"{manifest['top']}.bit", f"{manifest['top']}.mcs", "evidence.txt"):
        assert (folder / "build" / name).exists()
    bits = sum(port["bits"] for port in manifest["ports"])
    assert len(properties(reported, r".*PACKAGE_PIN")) == bits
    assert properties(reported, r".*PULLUP TRUE") == [
        "set_property -dict {PACKAGE_PIN BH26 IOSTANDARD LVCMOS18 PULLUP TRUE} pcie_reset_n"
    ]
    # NetSparse asks nobody again, so its link must lose nothing; P4SGD's packets may be lost.
    lossless = design.startswith("netsparse-")
    pauses = lossless or design in ("forwarding-switch", "network-switch")
    readme = (folder / "README.md").read_text()
    assert ("| responses and errors | 32 (CS4) | 4 |" in readme) == lossless
    assert ("up to 100 m\nof fibre" in readme) == pauses
    assert ("CONFIG.TX_FLOW_CONTROL 1" in (folder / "tcl" / "ip.tcl").read_text()) == pauses
    built = {line.split()[-1] for line in reported if line.startswith("create_clock")}
    assert "pcie_refclk_1_p" in built
    assert "clk_100mhz_0_p" not in built  # clk_wiz makes it, with its jitter
    again = ingather("generate", design, "--preset", "tiny", *BOARD, "-o", folder)
    assert again.returncode == 2
    assert "holds what ingather did not write, such as build/" in again.stderr


def test_a_package_for_another_clock(tmp_path, vivado):
    """The clock is made, reported and checked as it was chosen; constraints have its period."""
    folder = tmp_path / "out"
    options = ("--preset", "tiny", *BOARD, "--core-mhz", "300", "--no-estimate")
    result = ingather("generate", "p4sgd-switch", *options, "-o", folder)
    assert result.returncode == 0, result.stderr
    assert "CLKOUT1_REQUESTED_OUT_FREQ 300.000" in (folder / "tcl" / "ip.tcl").read_text()
    assert "| `sync` | 300" in (folder / "README.md").read_text()
    assert json.loads((folder / "manifest.json").read_text())["board"]["core_mhz"] == 300
    assert "300 MHz" in (folder / "core.html").read_text()
    assert "3.333" in (folder / "xdc" / "crossings.xdc").read_text()
    assert "<b>300 MHz</b>" in (folder / "datasheet.html").read_text()
    build(folder, vivado)


@pytest.mark.parametrize("command", ["generate", "synth"])
def test_a_clock_needs_a_card(command, tmp_path):
    result = ingather(command, "p4sgd-switch", "-o", tmp_path / "out", "--core-mhz", "300")
    assert result.returncode == 2
    assert "without a card you give the clock" in result.stderr


@pytest.mark.parametrize("mhz", ["-1", "0", "nan", "inf"])
@pytest.mark.parametrize("command", ["generate", "synth"])
def test_a_clock_is_above_0(command, mhz, tmp_path):
    output = {"generate": ["-o", tmp_path / "out"], "synth": []}[command]
    result = ingather(command, "p4sgd-switch", *output, "--board", "vitis", "--core-mhz", mhz)
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert f"--core-mhz must be above 0, and finite: {mhz}" in line
    assert not (tmp_path / "out").exists()


#: stands for a card with memory; in that of a SNIC the other node's rows have come
SEES_MEMORY = """
from contextlib import contextmanager

import DESIGN_host as host
from DESIGN_driver import MappedBus


class Card(host.Fake):
    def __init__(self, bus):
        super().__init__()
        self.read, self.write = bus.read, bus.write
        for idx in range(500, 1000):
            self.write_memory((1 << 20) + 64 * idx, bytes([idx % 256]) * 64)


@contextmanager
def open_card(*_):
    with MappedBus("WINDOW") as bus:
        yield host.attach(Card(bus))


host.open_card = open_card
"""


def fixed(folder):
    """Return fields that a folder's host software, if it has any, expects never to change."""
    for text in (path.read_text() for path in folder.glob("*_host/__init__.py")):
        (build,) = (
            node.value
            for node in ast.parse(text).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BUILD"
            if isinstance(node.value, ast.Call)
        )
        return next(ast.literal_eval(k.value) for k in build.keywords if k.arg == "fixed")
    return {}


@pytest.mark.parametrize(
    ("design", "answers", "writes"),
    [
        (SHORT, {}, {"job_ports": 0b11, "start_job": 1}),
        long(("mina-switch", {}, {"job_ports": 0b11, "job_epoch": 1, "acquire_job": 1})),
        long(("switchgnn-endpoint", FINISHED, {"turns": 1, "own_address_low": 3, "start": 1})),
        long(("switchgnn-switch", {}, {"job_ports": 0b11, "job_depth": 1, "start_job": 1})),
        long(("netsparse-switch", {}, {"route_node": 7, "uplinks": 0b10, "clear_counters": 1})),
        long(
            (
                "netsparse-snic",
                {"completion_valid": 1},
                {"first_high": 0, "end_low": 500, "server_units_low": 0b10, "next_completion": 1},
            )
        ),
    ],
)
def test_the_readme_s_program_drives_registers_that_are_there(design, answers, writes, small):
    """The program runs on a file that stands for the card's window."""
    folder = small(design)
    answers = answers | fixed(folder)
    (driver,) = folder.glob("*_driver.py")
    (program,) = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    window = folder.parent / f"{design}.window"
    window.write_bytes(bytes(1 << 20))
    fields = runpy.run_path(str(driver))["FIELDS"]
    words = {}
    for name, value in answers.items():
        address = fields[name].address
        words[address] = words.get(address, 0) | value << fields[name].offset
    for address, word in words.items():
        with window.open("r+b") as file:
            file.seek(address)
            file.write(word.to_bytes(4, "little"))
    program = textwrap.dedent(program)
    program = program.replace("/sys/bus/pci/devices/0000:BB:DD.F/resource0", str(window))
    if "0000:BB:DD.F" in program or "/dev/xdma0" in program:
        card = SEES_MEMORY.replace("WINDOW", str(window))
        program = card.replace("DESIGN", design.replace("-", "_")) + program
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        cwd=folder,
        input="\n\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    held = window.read_bytes()
    for name, value in writes.items():
        word = int.from_bytes(held[fields[name].address :][:4], "little")
        assert word >> fields[name].offset & (1 << fields[name].bits) - 1 == value, name


@pytest.mark.long
def test_the_worker_of_the_card(tmp_path, vivado):
    folder = tmp_path / "out"
    result = ingather("generate", "p4sgd-worker", *BOARD, "-o", folder)
    assert result.returncode == 0, result.stderr
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["preset"], manifest["parameters"]["slrs"]) == ("u280", 3)
    reported = build(folder, vivado)
    built = [line.split()[-1] for line in reported if line.startswith("create_ip")]
    assert {"hbm", "cmac_0"} <= set(built)
    enabled = re.findall(r"CONFIG.USER_SAXI_(\d\d) true", "\n".join(reported))
    # Of eight engines: two ports of words each, one of labels, one of the host.
    assert len(enabled) == 8 * 2 + 2


def test_the_same_command_gives_the_same_bytes(small, tmp_path):
    """It does whatever the order of sets: each process hashes its own way, another made these."""
    command = ["generate", SHORT, "--preset", "tiny", *BOARD, "-o", tmp_path / "again"]
    subprocess.run(
        [sys.executable, "-m", "gen", *command],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "2"},
    )
    assert tree(small(SHORT)) == tree(tmp_path / "again")


WORKER = ("generate", "p4sgd-worker", "--preset", "tiny")
MISTAKES = [
    ((*WORKER, "--board", "u28", "-o", "out"), "no board 'u28'; did you mean u280?"),
    (("generate", "p4sgd-engine", *BOARD, "-o", "out"), "use p4sgd-worker, which holds it"),
    (
        ("generate", "p4sgd-switch", "--preset", "8-port", *BOARD, "-o", "out"),
        "ports can be at most 2, not 8: the card has two QSFP28 cages",
    ),
    (("generate", "p4sgd-worker", "--preset", "u20", *BOARD, "-o", "out"), "did you mean u280?"),
    ((*WORKER, *BOARD, "--set", "slrs=4", "-o", "out"), "slrs"),
    ((*WORKER, "--strict", "-o", "out"), "--strict needs --board"),
    ((*WORKER, *BOARD, "--strict", "-o", "out"), "--strict needs the estimate"),
    ((*WORKER, *BOARD, "-o", "taken"), "not made by ingather"),
]


@pytest.mark.parametrize(("arguments", "text"), MISTAKES)
def test_mistakes_are_one_line_and_leave_nothing(arguments, text, tmp_path, called):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("precious")
    result = called(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    reported = without_progress(result.stderr)
    assert reported.startswith("ingather: ")
    assert reported.count("\n") == 1
    assert text in reported
    assert tree(tmp_path) == {"taken/file": b"precious"}


def of_sample(estimated, emission, top, progress, cache):
    assert top.top.name.startswith("switch_board")
    return estimated(emission, progress, cache)


@pytest.mark.parametrize("strict", short_and_long([True, False], [True]))
def test_what_does_not_fit_is_said(strict, emission, tmp_path, monkeypatch, capsys):
    """The estimate is of the sample's top, as that of a card's takes a minute."""
    from gen.cli import main

    lack = "does not fit u280: URAM needs 1,000, 960 are free, 40 too many"
    monkeypatch.setattr(placement, "estimated", partial(of_sample, placement.estimated, emission))
    monkeypatch.setattr(placement, "place", lambda *_: (None, [lack]))
    folder = tmp_path / "out"
    arguments = ["generate", "p4sgd-switch", "--preset", "tiny", "--board", "u280"]
    arguments += ["-o", str(folder), *(["--strict"] if strict else [])]
    monkeypatch.setattr("sys.argv", ["ingather", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out, error = capsys.readouterr()
    assert ended.value.code == (2 if strict else 0)
    assert folder.exists() == (not strict)
    assert lack in (error if strict else out)
    assert "floorplan.svg" not in (tree(folder) if not strict else ())
