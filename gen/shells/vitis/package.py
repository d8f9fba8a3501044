"""Writes everything beside the Verilog that Vitis needs to link a design as a kernel."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from gen.base.emission.emit import Emission
from gen.base.errors import UserError
from gen.base.registers.documents import register_documents
from gen.board.templates import environment
from gen.board.values import core_of, register_maps
from gen.designs.design import Design, load
from gen.ip.ipxact import Bus, buses
from gen.output.folder import MANIFEST
from gen.output.manifest import write_files, write_manifest
from gen.shells.vitis.check import problems
from gen.shells.vitis.platforms import U280, Platform
from gen.software.software import Software
from gen.synth.synthesis import Synthesis
from hdl.common.core_clock import CORE_MHZ
from hdl.common.registers import RegisterMap
from hdl.vitis.kernel_control import KernelControl

HERE = Path(__file__).parent
#: file of the package <- template
TEMPLATES = {
    "Makefile": "Makefile.j2",
    "README.md": "README.md.j2",
    "example.cpp": "example.cpp.j2",
    "connectivity.cfg": "connectivity.cfg.j2",
    "kernel.xml": "kernel.xml.j2",
    "tcl/package_kernel.tcl": "package_kernel.tcl.j2",
}
ALL = (1 << 64) - 1  #: range of a manager, which reaches all memory


def write_kernel(
    folder: Path,
    emission: Emission,
    design: Design,
    platform: Platform = U280,
    mhz: float = CORE_MHZ,
    synthesis: Synthesis | None = None,
) -> dict[str, str]:
    """Add what makes a kernel of ``emission`` to the design in ``folder``, and check the whole.

    ``mhz`` is the clock that it is linked for, of which an estimate says whether paths allow it.
    Returns the hashes of the files by name, the manifest's too. UserError says what of the
    package does not fit the Verilog.
    """
    top: Any = emission.top.component
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["board"] = {
        "name": platform.platform,
        "part": platform.part,
        "core_mhz": mhz,
    }
    if synthesis is not None:
        manifest["board"]["allowed_mhz"] = int(1000 / synthesis.clocks[0].needs)
    software = load(design.software)(top.params)
    banks = top.banks(platform.memory, platform.banks)
    software = replace(software, kernel={**software.kernel, "banks": banks})
    maps = register_maps(emission, core_of(emission, load(design.component)))
    values = values_of(emission, design, maps, software, platform) | {
        "mhz": f"{mhz:g}",
        "allowed_mhz": manifest["board"].get("allowed_mhz"),
        "enough": synthesis is None or synthesis.clocks[0].met,
    }
    files: dict[str, str | bytes] = {
        name: environment(HERE).get_template(template).render(values)
        for name, template in TEMPLATES.items()
    }
    files[f"{software.package}/__init__.py"] = software.init()
    for prefix, map in maps.items():
        files |= {prefix + name: text for name, text in register_documents(map).items()}
    hashes = write_files(folder, files)
    manifest["files"] |= hashes
    written = write_manifest(folder, manifest)
    if result := problems(folder):
        raise UserError("; ".join(result))
    return hashes | written


def values_of(
    emission: Emission,
    design: Design,
    maps: dict[str, RegisterMap],
    software: Software,
    platform: Platform,
) -> dict[str, Any]:
    """Return the variables of all templates."""
    top: Any = emission.top.component
    interfaces = [interface(bus) for bus in buses(top.signature)]
    streams = [item["name"] for item in interfaces if item["kind"] == "stream"]
    kernel: Any = software.kernel
    control = maps[f"{KernelControl(top.kernel).registers.name}/"]
    base = min(address for address, *_ in kernel["fields"].values())
    pointers = [
        {
            "name": f"pointer_{name}",
            "port": f"m_axi_{name}",
            "offset": base + control.address(f"pointer_{name}_low"),
        }
        for name in kernel["managers"]
    ]
    banks = [
        (f"m_axi_{name}", bank)
        for name, bank in zip(kernel["managers"], kernel["banks"], strict=True)
    ]
    # m and s: the streams to a cmac and from it
    cmacs = [
        {"name": f"cmac_{k}", **{s[0]: s for s in streams if s.endswith(f"axis{tail}")}}
        for k, tail in enumerate("" if end is None else f"_{end}" for end in top.ends())
    ]
    return {
        "design": design.name,
        "kernel": emission.top.name,
        "instance": f"{design.name.rpartition('-')[2]}_0",
        "interfaces": interfaces,
        "pointers": pointers,
        "banks": banks,
        "cmacs": cmacs,
        "interfaces_of_vnx": 3 if len(cmacs) > 1 else 0,
        "interrupt": top.kernel.requests,
        "breaks_off": top.breaks_off,
        # A worker without registers between dies must lie on one.
        "slr": platform.memory_slr if getattr(top.params, "slrs", 0) == 1 else None,
        "platform": platform,
        "base": base,
        "beat": kernel["beat"] if top.mover else 0,
        "checks": software.kernel_checks,
        "package": software.package,
        "built": software.registers_built,
    }


def interface(bus: Bus) -> dict[str, Any]:
    """Return an interface as the templates take it."""
    parameters = bus.parameters
    if bus.kind == "axis":
        bits = 8 * parameters["TDATA_NUM_BYTES"]
        return {"name": bus.name, "master": bus.master, "kind": "stream", "bits": bits}
    reach = ALL if bus.master else 1 << parameters["ADDR_WIDTH"]
    rest = {"bits": parameters["DATA_WIDTH"], "range": reach}
    return {"name": bus.name, "master": bus.master, "kind": "addressable", **rest}
