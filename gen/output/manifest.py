"""Writes the files of a generated design: Verilog, file list, registers, datasheet, manifest."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from gen.base.emission.emit import Emission
from gen.base.emission.verilog.sources import with_sources
from gen.base.heads import version_of, with_heads
from gen.base.registers.documents import register_documents
from gen.datasheet.page import datasheet
from gen.designs.catalogue import designs
from gen.designs.design import load
from gen.ip.files import ip_files
from gen.output.folder import MADE_BY, MANIFEST
from gen.output.waivers import waivers
from hdl.common.component import Component
from hdl.common.registers import RegisterMap

TOOLS = ("ingather", "amaranth", "pyosys")


def write_design(
    folder: Path,
    emission: Emission,
    *,
    design: str,
    preset: str,
    settings: Mapping[str, Any],
    resources: Mapping[str, Any] | None = None,
    sources: bool = True,
    stored: Callable[..., Any] | None = None,
    mhz: float | None = None,
) -> dict[str, str]:
    """Write all files of ``emission`` into ``folder``; return their hashes, by name.

    A component with registers has a function ``register_map`` of its parameters, one whose parts
    have registers of their own a mapping ``pages`` to their maps; one with known delays has a
    mapping ``latencies``. ``resources`` is an estimate for the datasheet, as
    ``ingather synth`` gives it in JSON; ``sources`` says whether comments of the Verilog name the
    lines of Python that it comes from; ``stored`` goes to :func:`register_documents`; ``mhz`` is
    the clock that the datasheet names, if it is not the usual one. Equal
    arguments write equal bytes on the same day, which the datasheet names, or with
    SOURCE_DATE_EPOCH; UserError if registers are to be described and the tools are not installed.
    """
    files: dict[str, str | bytes] = {
        f"rtl/{name}.v": with_sources(module.verilog, module.sources if sources else {})
        for name, module in emission.modules.items()
    }
    # Children stand before their parents, as in the emission.
    files["filelist.f"] = "".join(f"{name}\n" for name in files)
    files["lint.vlt"] = waivers(emission)
    component = emission.top.component
    map = register_map_of(component)
    if map is not None:
        files |= register_documents(map, stored)
    for name, page in getattr(component, "pages", {}).items():
        documents = register_documents(page, stored)
        files |= {f"registers/{name}/{file}": text for file, text in documents.items()}
    guide = guide_of(design, component.params)
    if guide:
        files["GUIDE.md"] = guide
    files |= software_of(design, emission)
    if (known := designs().get(design)) and is_alone(design, emission):
        files |= ip_files(emission, design, known.about, map, files)
    files["datasheet.html"] = datasheet(
        emission,
        design=design,
        preset=preset,
        settings=settings,
        resources=resources,
        guide=guide,
        mhz=mhz,
    )
    hashes = write_files(folder, files)
    manifest = {
        "made_by": MADE_BY,
        "design": design,
        "preset": preset,
        "settings": dict(settings),
        "parameters": asdict(component.params),
        "top": emission.top.name,
        "ports": [asdict(port) for port in emission.top.ports],
        "modules": describe_modules(emission, hashes),
        "latencies": dict(getattr(component, "latencies", {})),
        "tools": {name: version_of(name) for name in TOOLS},
        "digest": emission.digest,
        "files": hashes,
    }
    return hashes | write_manifest(folder, manifest)


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> dict[str, str]:
    """Write files, each with its head, into ``folder``; return their hashes, by name."""
    contents = {name: as_bytes(text) for name, text in with_heads(files).items()}
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return {name: sha256(content).hexdigest() for name, content in contents.items()}


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> dict[str, str]:
    """Write the manifest of ``folder``; return its hash, by its name."""
    text = json.dumps(manifest, indent=2) + "\n"
    (folder / MANIFEST).write_text(text)
    return {MANIFEST: sha256(text.encode()).hexdigest()}


def guide_of(design: str, params: Any) -> str:
    """Return the programming guide of a design of the catalogue, empty if it has none."""
    known = designs().get(design)
    return load(known.guide)(params) if known and known.guide else ""


def register_map_of(component: Component) -> RegisterMap | None:
    """Return the registers of a component, None if it has none."""
    make_map = getattr(component, "register_map", None)
    return make_map(component.params) if make_map else None


def software_of(design: str, emission: Emission) -> dict[str, str]:
    """Return the host software of a design of the catalogue, nothing if it has none.

    Its bench is of the design alone: around a card's top, the vendor's IP would be missing.
    """
    known = designs().get(design)
    if known is None or not known.software:
        return {}
    software = load(known.software)(emission.top.component.params)
    bench = software.bench_files(emission.verilog) if is_alone(design, emission) else {}
    return software.package_files() | bench


def is_alone(design: str, emission: Emission) -> bool:
    """Return whether ``emission`` is of a design of the catalogue itself, without a card's top."""
    return isinstance(emission.top.component, load(designs()[design].component))


def describe_modules(emission: Emission, hashes: Mapping[str, str]) -> list[dict[str, Any]]:
    """Describe each distinct module: its file, how often it is placed, its hash of ``hashes``."""
    counts = emission.counts()
    return [
        {
            "name": name,
            "file": f"rtl/{name}.v",
            "instances": counts[name],
            "sha256": hashes[f"rtl/{name}.v"],
        }
        for name in emission.modules
    ]


def port_list(emission: Emission) -> str:
    """Return the top and its ports, one a line, as they are committed for review."""
    lines = [f"{port.direction:6} {port.bits:5} {port.name}" for port in emission.top.ports]
    return "\n".join([emission.top.name, *lines, ""])


def as_bytes(text: str | bytes) -> bytes:
    """Return a file's contents as bytes."""
    return text.encode() if isinstance(text, str) else text
