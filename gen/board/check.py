"""Checks a package for a card against its own Verilog, and reports what does not fit."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gen.base.emission.emit import Port
from gen.board.check_constraints import (
    check_blocks,
    check_boundaries,
    check_cells,
    check_clocks,
    check_crossings,
    check_pins,
    read_constraints,
)
from gen.board.check_ips import check_instances, check_ips
from gen.board.check_ipxact import check_component
from gen.board.check_slls import check_slls
from gen.board.hierarchy import Hierarchy, read_verilog
from gen.board.pins import read_pins
from gen.output.folder import MANIFEST


def problems(folder: Path, table: Path, top: Any) -> list[str]:
    """Return what is wrong with the package in ``folder``, a line each.

    ``top`` is the component that it is for: its ``vendor_ips``, ``primitives``, ``clocks`` and
    ``crossings`` are what the package must cover. ``table`` lists the pins of the card.
    """
    wrong: list[str] = []
    manifest = json.loads((folder / MANIFEST).read_text())
    wrong += check_files(folder, manifest)
    try:
        modules = read_verilog(sorted(folder.glob("rtl/*.v")))
    except ValueError as error:
        return [*wrong, str(error)]
    boxes = {ip.name: [port.name for port in ip.ports] for ip in (*top.vendor_ips, *top.primitives)}
    hierarchy = Hierarchy(manifest["top"], modules, boxes)
    if manifest["top"] not in modules:
        return [*wrong, f"there is no module {manifest['top']}"]
    constraints = read_constraints(sorted(folder.glob("xdc/*.xdc")), wrong)
    ports = [Port(**port) for port in manifest["ports"]]
    wrong += check_ports(ports, hierarchy)
    wrong += check_pins(constraints, ports, read_pins(table))
    clocks = {clock.port: clock for clock in top.clocks if clock.port}
    wrong += (f"port {p.name} has no clock" for p in ports if is_clock(p) and p.name not in clocks)
    wrong += check_clocks(
        constraints,
        {port: clock.period for port, clock in clocks.items() if not clock.made_by},
        {port: clock.made_by for port, clock in clocks.items() if clock.made_by},
    )
    wrong += check_cells(constraints, hierarchy)
    wrong += check_boundaries(constraints, hierarchy)
    wrong += check_blocks(constraints)
    ways = [path.path for path in getattr(top, "slr_crossings", ())]
    wrong += check_slls(constraints, hierarchy, folder / "rtl", ways)
    wrong += check_crossings(constraints, [c.path for c in top.crossings], hierarchy)
    wrong += check_ips(folder / "tcl" / "ip.tcl", hierarchy, top.vendor_ips, top.primitives)
    wrong += check_instances(hierarchy)
    wrong += check_component(folder / "component.xml", modules, folder)
    return list(dict.fromkeys(wrong))


def is_clock(port: Port) -> bool:
    """Return whether a port is, by its name, an oscillator's output (the true half of a pair)."""
    return port.direction == "input" and "clk" in port.name and port.name.endswith("_p")


def check_files(folder: Path, manifest: Any) -> Iterator[str]:
    """Report files that the folder has and its lists do not, and the other way round."""
    present = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    yield from compare(present - {MANIFEST}, set(manifest["files"]), "the manifest")
    listed = (folder / "filelist.f").read_text().split()
    verilog = {name for name in present if name.startswith("rtl/")}
    yield from compare(verilog, listed, "filelist.f")
    project = (folder / "tcl" / "project.tcl").read_text()
    used = {f"xdc/{name}" for name in re.findall(r"[\w-]+\.xdc", project)}
    yield from compare({n for n in present if n.startswith("xdc/")}, used, "project.tcl")


def compare(present: Iterable[str], listed: Collection[str], what: str) -> Iterator[str]:
    """Yield a line for each name that only the folder or only the list has, or the list twice."""
    yield from (f"{name} is not in {what}" for name in sorted({*present} - {*listed}))
    yield from (
        f"{what} lists {name}, which is not there" for name in sorted({*listed} - {*present})
    )
    yield from (f"{what} lists {name} twice" for name, n in Counter(listed).items() if n > 1)


def check_ports(ports: Sequence[Port], hierarchy: Hierarchy) -> Iterator[str]:
    """Report ports in which the manifest differs from the top's Verilog."""
    verilog = hierarchy.modules[hierarchy.top].ports
    listed = {port.name: (port.direction, port.bits) for port in ports}
    yield from compare(set(verilog), set(listed), "the manifest")
    for name in set(verilog) & set(listed):
        if verilog[name] != listed[name]:
            yield f"port {name} is {verilog[name]} in Verilog, {listed[name]} in the manifest"
