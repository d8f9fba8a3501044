"""Writes everything beside the Verilog that Vivado needs to build a design for a card."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gen.base.emission.emit import Emission
from gen.base.registers.documents import register_documents
from gen.board.boards import Board
from gen.board.check import problems
from gen.board.placement import Placement
from gen.board.templates import environment
from gen.board.values import below, values_of
from gen.datasheet.page import datasheet
from gen.designs.design import Design
from gen.ip.ipxact import component_xml
from gen.output.folder import MANIFEST
from gen.output.manifest import register_map_of, write_files, write_manifest

#: file of the package <- template of the card
TEMPLATES = {
    "Makefile": "Makefile.j2",
    "README.md": "README.md.j2",
    "tcl/project.tcl": "project.tcl.j2",
    "tcl/ip.tcl": "ip.tcl.j2",
    "tcl/build.tcl": "build.tcl.j2",
    "tcl/reports.tcl": "reports.tcl.j2",
    "tcl/checks.tcl": "checks.tcl.j2",
    "tcl/findings.tcl": "findings.tcl.j2",
    "tcl/open_reports.tcl": "open_reports.tcl.j2",
    "tcl/evidence.tcl": "evidence.tcl.j2",
    "tcl/fail.tcl": "fail.tcl.j2",
    "tcl/program.tcl": "program.tcl.j2",
    "tcl/mcs.tcl": "mcs.tcl.j2",
    "xdc/pins.xdc": "pins.xdc.j2",
    "xdc/clocks.xdc": "clocks.xdc.j2",
    "xdc/configuration.xdc": "configuration.xdc.j2",
    "xdc/crossings.xdc": "crossings.xdc.j2",
}
#: what of a module's estimate is in evidence
MODULE = ("name", "component", "count", "own", "depth", "children")


def write_package(
    folder: Path,
    emission: Emission,
    board: Board,
    design: Design,
    placement: Placement | None = None,
    estimate: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """Add what builds ``emission`` for ``board`` to the design in ``folder``, and check the whole.

    ``estimate`` is that of its resources and paths, as ``ingather synth`` gives it in JSON. Returns
    the hashes of the files by name, the manifest's too. ValueError says what of the package does
    not fit the Verilog.
    """
    manifest = json.loads((folder / MANIFEST).read_text())
    top: Any = emission.top.component
    manifest["board"] = {"name": board.name, "part": board.device.part, "core_mhz": top.core_mhz}
    files = package_files(
        emission, board, design, placement, manifest["preset"], manifest["settings"]
    )
    hashes = write_files(folder, files | {"estimate.json": estimate_text(manifest, estimate)})
    manifest["files"] |= hashes
    written = write_manifest(folder, manifest)
    if result := problems(folder, board.constraints / "pins.csv", emission.top.component):
        raise ValueError("\n".join(result))
    return hashes | written


def estimate_text(manifest: Mapping[str, Any], estimate: Mapping[str, Any] | None) -> str:
    """Return what a build's evidence has of the package: what it is made of, and its estimate."""
    stored = ("design", "preset", "settings", "board", "tools", "digest")
    package: dict[str, Any] = {name: manifest[name] for name in stored}
    if estimate is not None:
        estimate = {
            "clocks": estimate["clocks"],
            "modules": [{name: module[name] for name in MODULE} for module in estimate["modules"]],
        }
    return json.dumps(package | {"estimate": estimate}, indent=1) + "\n"


def package_files(
    emission: Emission,
    board: Board,
    design: Design,
    placement: Placement | None,
    preset: str = "",
    settings: Mapping[str, Any] | None = None,
) -> dict[str, str | bytes]:
    """Return the files of a package by name, except those of the top itself.

    ``preset`` and ``settings`` are named in the datasheet of the design.
    """
    values = values_of(emission, board, design, floorplan=placement is not None)
    templates = environment(board.constraints)
    files: dict[str, str | bytes] = {
        name: templates.get_template(template).render(values)
        for name, template in TEMPLATES.items()
    }
    core = below(emission, values["core"])
    mhz = values["core_mhz"]
    files["core.html"] = datasheet(
        core, design=design.name, preset=preset, settings=settings or {}, mhz=mhz
    )
    files["component.xml"] = component_xml(
        core.top,
        [f"rtl/{name}.v" for name in core.modules],
        about=design.about,
        map=register_map_of(core.top.component),
        mhz=mhz,
    )
    for prefix, map in values["maps"].items():
        files |= {prefix + name: text for name, text in register_documents(map).items()}
    if placement is not None:
        files |= {"xdc/floorplan.xdc": placement.xdc, "floorplan.svg": placement.svg}
    return files
