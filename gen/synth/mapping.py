"""Maps a module onto the primitives of UltraScale+ by Yosys, in a process of its own.

Yosys ends the process it runs in when it finds an error, and may crash: neither may take the
command with it. A fresh process also makes a module's netlist depend on nothing but the module.

Modules that differ only in their names, and in those of the modules that they place, are mapped
once: Yosys is given names that say no more than which is which.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gen.base.emission.emit import EmittedModule
from gen.base.emission.yosys import native_yosys
from gen.base.errors import UserError
from gen.synth import uram_cascade
from gen.synth.cells import DSP, use_of
from hdl.u280.vendor import VendorIp

Bit = tuple[str, int]  #: a bit of a port: name, index
#: kind, key, what fills the folder -> the folder, and whether it was made just now
Cache = Callable[[str, str, Callable[[Path], None]], tuple[Path, bool]]

KIND = "synth"  #: name of the folders in a cache
NETLIST = "netlist.json"
TOP = "top"  #: what a module is called while it is mapped
#: a line of RTLIL with the name of the module, or of one that it places
NAMED = re.compile(r"^(module|  cell) \\([^\s.]+)", re.M)
OPTIONS = "-family xcup -noiopad -uram"
#: Yosys's libraries of primitives as RTLIL, which is read in a tenth of the time that their Verilog
#: takes: of all primitives, and of those that synth_xilinx may make for this family
ALL, COMMON = "all.il", "common.il"
READ_LIBRARIES = (
    "read_verilog -lib -specify +/xilinx/cells_sim.v",
    "select -set common =*",
    "read_verilog -lib +/xilinx/cells_xtra.v",
    f"write_rtlil {ALL}",
    "select @common =DSP48E2 =RAMB18E2 =RAMB36E2 =URAM288",
    f"write_rtlil -selected {COMMON}",
)
CHAINS = {uram_cascade.LIBRARY: uram_cascade.library(), uram_cascade.MAP: uram_cascade.techmap()}
#: begins a pass for modules that have a cell of a type: it takes half the time of a small one
ONLY_WITH = "?"
MEMORY = "$mem_v2"
#: As synth_xilinx does, but without primitives that nobody places, through all of which most passes
#: go; from its label map_luts on with abc in place of abc9, which takes minutes with wide modules.
#: All LUTs cost the same, as they do when they are counted; with synth_xilinx's costs by size there
#: are never fewer.
SHIFT_REGISTERS = "xilinx_srl -fixed -minlen 3"
#: run before, where the Verilog says of registers that they are no part of a shift register
STAY_REGISTERS = "select -set stay a:shreg_extract=no %ci1 t:FD* %i", "setattr -set keep 1 @stay"
RECIPE = (
    "read_rtlil source.il",
    "attrmap -modattr -remove generator -remove top",
    f"read_rtlil {ALL}",
    f"hierarchy -check -purge_lib -top {TOP}",
    f"read_rtlil -nooverwrite {COMMON}",
    f"synth_xilinx {OPTIONS} -run prepare:map_memory",
    *(f"{ONLY_WITH}{MEMORY} {line}" for line in uram_cascade.SELECT_AND_MAP),
    f"{ONLY_WITH}{uram_cascade.KINDS} techmap -map {uram_cascade.MAP}",
    f"{ONLY_WITH}{MEMORY} synth_xilinx {OPTIONS} -run map_memory:map_ffram",
    f"synth_xilinx {OPTIONS} -run map_ffram:map_luts",
    "opt_expr -mux_undef -noclkinv",
    "abc -lut 6",
    "clean",
    SHIFT_REGISTERS,
    "techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6",
    "xilinx_dffopt",
    "opt_lut_ins -tech xilinx",
    "clean",
    "blackbox =A:whitebox",
    "attrmap -remove src -remove module_not_derived",
    f"select {TOP}",
    f"write_json -selected {NETLIST}",
)
#: run in the folder of source.il and script; each pass leaves its own words in the log
WORKER = """
import sys
from collections import Counter
from pyosys import libyosys
design = libyosys.Design()
def run(line, log="log"):
    libyosys.run_pass(f"tee -q -o {log} {line}", design)
for line in open("script").read().splitlines():
    if line.startswith("?"):
        kind, line = line[1:].split(" ", 1)
        run(f"select -count t:{kind}", "count")
        if open("count").read().startswith("0 "):
            continue
    run(line)
"""


@dataclass(frozen=True, kw_only=True)
class MappedModule:
    """Holds the netlist of a module; its children are black boxes, as :func:`called`."""

    ports: Mapping[str, Any]  #: name -> direction, bits
    cells: Mapping[str, Any]  #: name -> type, parameters, connections: port -> bits
    names: Mapping[str, list[Any]]  #: bits of each wire; a bit is a number or "0", "1", "x"

    def count(self) -> dict[str, int]:
        """Count the cells of each type."""
        return dict(sorted(Counter(cell["type"] for cell in self.cells.values()).items()))

    def port_bits(self, *directions: str) -> dict[int, list[Bit]]:
        """Return the wires at ports of ``directions``, and the port bits that each one is."""
        result: dict[int, list[Bit]] = {}
        for name, port in self.ports.items():
            for index, bit in enumerate(port["bits"]):
                if port["direction"] in directions and isinstance(bit, int):
                    result.setdefault(bit, []).append((name, index))
        return result


def digest(*parts: str) -> str:
    """Return a key made of ``parts``."""
    return sha256("\0".join(parts).encode()).hexdigest()[:24]


def called(module: EmittedModule) -> dict[str, str]:
    """Return what the children of ``module`` are called while it is mapped."""
    return {name: f"child_{index}" for index, name in enumerate(module.instances)}


def source_of(module: EmittedModule, children: Mapping[str, EmittedModule]) -> str:
    """Return the RTLIL of ``module`` as it is mapped; its children are black boxes."""
    names = {**called(module), module.name: TOP}
    text = "".join(black_box(children[name]) for name in module.instances) + module.rtlil
    return NAMED.sub(lambda line: f"{line[1]} \\{names.get(line[2], line[2])}", text)


def key_of(source: str) -> str:
    """Return a key that is equal for equal netlists."""
    return digest(
        yosys_version(), WORKER, *READ_LIBRARIES, *CHAINS.values(), *recipe(source), source
    )


def recipe(source: str) -> tuple[str, ...]:
    """Return the passes that map a module."""
    if "shreg_extract" not in source:
        return RECIPE
    at = RECIPE.index(SHIFT_REGISTERS)
    return (*RECIPE[:at], *STAY_REGISTERS, *RECIPE[at:])


def map_module(name: str, source: str, cache: Cache) -> MappedModule:
    """Map what :func:`source_of` gives of a module to a netlist of primitives.

    Raises UserError if Yosys is missing, or with its words, and ``name``, if it fails.
    """
    key = digest(yosys_version(), *READ_LIBRARIES, *CHAINS.values())
    libraries, _ = cache(KIND, key, read_libraries)

    def make(folder: Path) -> None:
        for library in (ALL, COMMON, *CHAINS):
            (folder / library).symlink_to(libraries / library)
        (folder / "source.il").write_text(source)
        run_yosys(folder, recipe(source), name)
        try:
            text = json.loads((folder / NETLIST).read_text())["modules"][TOP]
        except ValueError as error:  # which Yosys does not say
            raise UserError(f"no room on the disk for {folder / NETLIST}") from error
        for left in ("source.il", "script", "log", "count", ALL, COMMON, *CHAINS):
            (folder / left).unlink(missing_ok=True)
        (folder / NETLIST).write_text(json.dumps(essence(text), separators=(",", ":")))

    folder, _ = cache(KIND, key_of(source), make)
    return MappedModule(**json.loads((folder / NETLIST).read_text()))


def read_libraries(folder: Path) -> None:
    """Leave the libraries of primitives in ``folder``."""
    for name, text in CHAINS.items():
        (folder / name).write_text(text)
    run_yosys(folder, READ_LIBRARIES, "primitives")
    for path in (folder / ALL, folder / COMMON):
        if not path.read_text().endswith("\nend\n"):  # Yosys does not say so
            raise UserError(f"no room on the disk for {path}")


def black_box(module: EmittedModule | VendorIp) -> str:
    """Return RTLIL of a module, or of IP, without its inside."""
    lines = ["attribute \\blackbox 1", f"module \\{module.name}"]
    for index, port in enumerate(module.ports, 1):
        lines.append(f"  wire width {port.bits} {port.direction} {index} \\{port.name}")
    return "\n".join([*lines, "end", ""])


def run_yosys(folder: Path, script: Iterable[str], name: str) -> None:
    """Run ``script`` in ``folder``; raise UserError, with Yosys's words, if it fails."""
    (folder / "script").write_text("\n".join(script))
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
        stored = {"type": cell["type"], "connections": cell["connections"]}
        if DSP.fullmatch(cell["type"]):
            stored["parameters"] = cell["parameters"]
        elif use_of(cell["type"]) is None:
            stored["port_directions"] = cell["port_directions"]
        cells[name] = stored
    names = {n: w["bits"] for n, w in module["netnames"].items() if not w["hide_name"]}
    return {"ports": module["ports"], "cells": cells, "names": names}


def yosys_version() -> str:
    """Return the version of Yosys; raise UserError if it is not installed."""
    native_yosys()
    return version("pyosys")
