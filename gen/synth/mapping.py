"""Maps a module onto the primitives of UltraScale+ by Yosys, in a process of its own.

Yosys ends the process it runs in when it finds an error, and may crash: neither may take the
command with it. A fresh process also makes a module's netlist depend on nothing but the module.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gen.emission.emit import EmittedModule
from gen.emission.yosys import native_yosys
from gen.errors import UserError
from gen.synth.cells import DSP, use_of
from hdl.u280.vendor import VendorIp

#: kind, key, what fills the folder -> the folder, and whether it was made just now
Cache = Callable[[str, str, Callable[[Path], None]], tuple[Path, bool]]

KIND = "synth"  #: name of the folders in a cache
NETLIST = "netlist.json"
OPTIONS = "-family xcup -noiopad -uram"
#: marks a pass for modules that have a memory: it takes half the time of a small one
WITH_MEMORIES = "?"
#: {top} is the module's name. As synth_xilinx does from its label map_luts on, but for abc in
#: place of abc9, which takes minutes with wide modules. All LUTs cost the same, as they do when
#: they are counted; with synth_xilinx's costs by size there are never fewer.
RECIPE = (
    "read_rtlil source.il",
    "attrmap -modattr -remove generator -remove top",
    f"synth_xilinx {OPTIONS} -top {{top}} -run begin:map_memory",
    f"{WITH_MEMORIES}synth_xilinx {OPTIONS} -run map_memory:map_ffram",
    f"synth_xilinx {OPTIONS} -run map_ffram:map_luts",
    "opt_expr -mux_undef -noclkinv",
    "abc -lut 6",
    "clean",
    "xilinx_srl -fixed -minlen 3",
    "techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6",
    "xilinx_dffopt",
    "opt_lut_ins -tech xilinx",
    "clean",
    "blackbox =A:whitebox",
    "attrmap -remove src -remove module_not_derived",
    "select {top}",
    "write_json -selected netlist.json",
)
#: run in the folder of source.il and script; each pass leaves its own words in the log
WORKER = """
import sys
from pyosys import libyosys
design = libyosys.Design()
def run(line, log="log"):
    libyosys.run_pass(f"tee -q -o {log} {line}", design)
for line in open("script").read().splitlines():
    if line.startswith("?"):
        run("select -count t:$mem_v2", "count")
        if open("count").read().startswith("0 "):
            continue
    run(line.lstrip("?"))
"""


@dataclass(frozen=True, kw_only=True)
class MappedModule:
    """Holds the netlist of a module; its children are black boxes."""

    name: str
    key: str  #: equal keys are equal netlists
    ports: Mapping[str, Any]  #: name -> direction, bits
    cells: Mapping[str, Any]  #: name -> type, parameters, connections: port -> bits
    names: Mapping[str, list[Any]]  #: bits of each wire; a bit is a number or "0", "1", "x"

    def count(self) -> dict[str, int]:
        """Count the cells of each type."""
        counts: dict[str, int] = {}
        for cell in self.cells.values():
            counts[cell["type"]] = counts.get(cell["type"], 0) + 1
        return dict(sorted(counts.items()))


def map_module(
    module: EmittedModule, children: Mapping[str, EmittedModule], cache: Cache | None = None
) -> MappedModule:
    """Map ``module`` to a netlist of primitives; its children are black boxes.

    Raises UserError if Yosys is missing, or with its words if it fails.
    """
    source = "".join(black_box(children[name]) for name in module.instances) + module.rtlil
    script = "\n".join(RECIPE).format(top=module.name)
    key = sha256("\0".join((yosys_version(), WORKER, script, source)).encode()).hexdigest()[:24]

    def make(folder: Path) -> None:
        (folder / "source.il").write_text(source)
        (folder / "script").write_text(script)
        run_yosys(folder, module.name)
        try:
            text = json.loads((folder / NETLIST).read_text())["modules"][module.name]
        except ValueError as error:  # which Yosys does not say
            raise UserError(f"no room on the disk for {folder / NETLIST}") from error
        for name in ("source.il", "script", "log", "count"):
            (folder / name).unlink(missing_ok=True)
        (folder / NETLIST).write_text(json.dumps(essence(text), separators=(",", ":")))

    if cache is not None:
        folder, _ = cache(KIND, key, make)
        return MappedModule(name=module.name, key=key, **read_netlist(folder))
    with tempfile.TemporaryDirectory() as scratch:
        make(Path(scratch))
        return MappedModule(name=module.name, key=key, **read_netlist(Path(scratch)))


def read_netlist(folder: Path) -> dict[str, Any]:
    """Read the mapped netlist that :func:`essence` has kept in ``folder``."""
    return json.loads((folder / NETLIST).read_text())


def black_box(module: EmittedModule | VendorIp) -> str:
    """Return RTLIL of a module, or of IP, without its inside."""
    lines = ["attribute \\blackbox 1", f"module \\{module.name}"]
    for index, port in enumerate(module.ports, 1):
        lines.append(f"  wire width {port.bits} {port.direction} {index} \\{port.name}")
    return "\n".join([*lines, "end", ""])


def run_yosys(folder: Path, name: str) -> None:
    """Run the script in ``folder``; raise UserError, with Yosys's words, if it fails."""
    paths = os.pathsep.join(filter(None, sys.path))
    # abc's own commands take no blank in the path of its temporary files.
    environment = os.environ | {"PYTHONPATH": paths, "TMPDIR": "."}
    result = subprocess.run(
        [sys.executable, "-P", "-c", WORKER],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if result.returncode == 0:
        return
    log = folder / "log"
    words = (log.read_text(errors="replace") if log.exists() else "") + result.stderr
    errors = re.findall(r"^ERROR: .*", words, re.M) or words.strip().splitlines()[-1:]
    reason = errors[-1] if errors else f"status {result.returncode}"
    raise UserError(f"Yosys cannot map {name}: {reason}")


def essence(module: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a module's JSON that are used later."""
    cells = {}
    for name, cell in module["cells"].items():
        kept = {"type": cell["type"], "connections": cell["connections"]}
        if DSP.fullmatch(cell["type"]):
            kept["parameters"] = cell["parameters"]
        elif use_of(cell["type"]) is None:
            kept["port_directions"] = cell["port_directions"]
        cells[name] = kept
    names = {n: w["bits"] for n, w in module["netnames"].items() if not w["hide_name"]}
    return {"ports": module["ports"], "cells": cells, "names": names}


def yosys_version() -> str:
    """Return the version of Yosys; raise UserError if it is not installed."""
    native_yosys()
    return version("pyosys")
