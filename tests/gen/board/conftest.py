"""Makes the sample's package once, and copies of it to spoil."""

import json
import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from gen.base.emission.emit import emit
from gen.board import ip_table
from gen.board.black_boxes import with_boxes
from gen.board.boards import find_board
from gen.board.package import write_package
from gen.board.placement import Placement
from gen.output.folder import MANIFEST, written_whole
from gen.output.manifest import write_design
from tests.gen.board.sample import DESIGN, CoreParams, SampleBoard
from tests.tclsh import tclsh

HERE = Path(__file__).resolve().parent
PLACEMENT = Placement(
    xdc="create_pblock pblock_slr0\n"
    "resize_pblock [get_pblocks pblock_slr0] -add {SLR0}\n"
    "set_property IS_SOFT FALSE [get_pblocks pblock_slr0]\n"
    "add_cells_to_pblock [get_pblocks pblock_slr0] [get_cells {core}]\n",
    svg='<svg xmlns="http://www.w3.org/2000/svg"/>\n',
)
MODULES = ("sample_board", "core", "cage", "synchroniser_1", "clocking", "mac")

#: what the stub answers unless a test says otherwise
STUB = {
    "STUB_VERSION": "2022.1.1",
    "STUB_PARTS": "xcu280-fsvh2892-2L-e",
    "STUB_SLACK": "0.013",
    "STUB_FAILING": "",
    "STUB_FOLDER": str(HERE / "vivado"),
    "STUB_REPORTS": "",
    "STUB_CLOCKS": "",
    "STUB_SKEWS": "",
    "STUB_DRC": "",
    "STUB_DEVICES": "xcu280_0",
}


def catalogue(folder):
    """Return the stub's IP: the newest version of each kind, its properties and their values."""
    tables = [ip_table.read_table(path) for path in sorted(folder.glob("*.toml"))]
    properties = [
        f"{{{table.ip}}} {{{name}}} {{^(?:{item.pattern})$}}"
        for table in tables
        for name, item in table.properties.items()
    ]
    return {
        "STUB_IPS": " ".join(f"{table.ip} {table.versions[-1]}" for table in tables),
        "STUB_PROPERTIES": " ".join(properties),
    }


def cells_below(folder, name="", path=""):
    """Yield each instance's path and module in a package's Verilog."""
    name = name or json.loads((folder / MANIFEST).read_text())["top"]
    file = folder / "rtl" / f"{name}.v"
    for kind, cell in re.findall(r"^  \\?(\w+) +\\?(\w+) +\($", file.read_text(), re.M):
        yield path + cell, kind
        if (folder / "rtl" / f"{kind}.v").exists():
            yield from cells_below(folder, kind, f"{path}{cell}/")


def boxes_below(folder):
    """Return instances of modules that a package has no Verilog of: the vendor's cells."""
    own = {path.stem for path in folder.glob("rtl/*.v")}
    return [(cell, kind) for cell, kind in cells_below(folder) if kind not in own]


@contextmanager
def sample_tables():
    """Use tables for the sample's IP, which is simpler than the vendor's."""
    ip_table.ip_table.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ip_table, "FOLDER", HERE / "ip")
        yield
    ip_table.ip_table.cache_clear()


def package_of(emission, design, board, folder, placement=None, estimate=None):
    with sample_tables(), written_whole(folder) as unfinished:
        boxed = with_boxes(emission)
        write_design(unfinished, boxed, design=design.name, preset="", settings={})
        write_package(unfinished, emission, board, design, placement, estimate)
    return folder


@pytest.fixture(scope="session")
def emission():
    return emit(SampleBoard(CoreParams()))


@pytest.fixture(scope="session")
def package(emission, tmp_path_factory):
    folder = tmp_path_factory.mktemp("package") / "of sample"
    return package_of(emission, DESIGN, find_board("u280"), folder, PLACEMENT)


@pytest.fixture
def copy(package, tmp_path):
    shutil.copytree(package, tmp_path / "a copy")
    return tmp_path / "a copy"


@pytest.fixture
def vivado(tmp_path):
    """Run ``make`` in a folder, with the stub as Vivado; return what the stub was told."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "vivado"
    command.write_text(f'#!/bin/sh\nexec {tclsh()} {HERE}/vivado_stub.tcl "$@"\n')
    command.chmod(0o755)
    log = tmp_path / "log"

    def make(folder, *targets, modules, path=f"{tmp_path}/bin", tables=HERE / "ip", **stub):
        environment = {
            "PATH": f"{path}:{os.environ['PATH']}",
            "STUB_LOG": str(log),
            "STUB_MODULES": " ".join(modules),
            "STUB_CELLS": " ".join(f"{cell} {kind}" for cell, kind in boxes_below(folder)),
            **STUB,
            **catalogue(tables),
            **{f"STUB_{name.upper()}": value for name, value in stub.items()},
        }
        result = subprocess.run(
            ["make", "-C", str(folder), *targets],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=120,
        )
        reported = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return result, reported

    return make


def reported_in_one_line(result):
    """Check that Vivado's error is one line, after which make adds that it has ended."""
    line, ending = result.stderr.splitlines()
    assert ending.startswith("make: ***")
    assert line.startswith("ERROR: ")
    return line.removeprefix("ERROR: ")
