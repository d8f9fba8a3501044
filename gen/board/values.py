"""Makes the variables that a card's templates are filled in with for a top."""

import inspect
import re
from collections.abc import Iterable
from typing import Any

from gen.base.emission.emit import Emission
from gen.board.black_boxes import instances_below
from gen.board.boards import Board
from gen.board.pins import pins_of, read_pins
from gen.designs.design import Design, load
from hdl.common.registers import RegisterMap
from hdl.netsparse.protocol import PRIORITIES
from hdl.u280.mac_signals import CLASSES

EARLY = ("pins.xdc", "clocks.xdc", "configuration.xdc")  #: constraints that hold for synthesis, too
LATE = ("crossings.xdc", "floorplan.xdc")  #: constraints on cells and clocks that synthesis makes
#: the oldest and the newest that have the part and these versions of the IP
VIVADO = ("2020.2", "2023.2")

MASTERS = ("m_axi_host", "rq_")  #: prefixes of the ports by which a design reaches host memory


def values_of(
    emission: Emission, board: Board, design: Design, *, floorplan: bool
) -> dict[str, Any]:
    """Return the variables that all templates of the card are filled in with.

    ``core`` is the module of the design inside its top; ``maps`` are register maps by folder.
    """
    top: Any = emission.top.component
    core = core_of(emission, load(design.component))
    clocks = [describe_clock(clock) for clock in top.clocks]
    return {
        "top": emission.top.name,
        "core": core,
        "core_mhz": top.core_mhz,
        "params": top.params,
        "design": design.name,
        "about": design.about,
        "notes": notes_of(top),
        "part": board.device.part,
        "device": board.device.part.partition("-")[0],
        "oldest": VIVADO[0],
        "newest": VIVADO[1],
        "pins": pins_of(emission.top.ports, read_pins(board.constraints / "pins.csv")),
        "clocks": [clock for clock in clocks if clock["port"] and not clock["made_by"]],
        "all_clocks": clocks,
        "crossings": top.crossings,
        "skews": sum(crossing.constraint == "gray_crossing" for crossing in top.crossings),
        "ips": [describe_ip(ip) for ip in top.vendor_ips],
        "vendor_cells": [
            path
            for path, kind in instances_below(emission, emission.top.name)
            if kind in {ip.name for ip in top.vendor_ips}
        ],
        "masters": any(p.name.startswith(MASTERS) for p in emission.modules[core].ports),
        **describe_host(top.vendor_ips),
        "macs": any(":cmac_usplus:" in ip.vlnv for ip in top.vendor_ips),
        "link": next((cage for cage in getattr(top, "cages", ()) if cage.pauses), None),
        "classes": list(zip(CLASSES, PRIORITIES, strict=True)),
        "maps": register_maps(emission, core),
        "early": EARLY,
        "late": [name for name in LATE if floorplan or name != "floorplan.xdc"],
        "floorplan": floorplan,
    }


def notes_of(top: Any) -> str:
    """Return the docstring of a top, as Markdown."""
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", inspect.getdoc(type(top)) or "")


def describe_ip(ip: Any) -> dict[str, Any]:
    """Return an IP as the variables that its template takes."""
    config = [(f"CONFIG.{name.removeprefix('CONFIG.')}", value) for name, value in ip.config]
    vendor, library, kind, version = ip.vlnv.split(":")
    return {
        "name": ip.name,
        "vendor": vendor,
        "library": library,
        "kind": kind,
        "version": version,
        "config": config,
    }


def describe_host(ips: Iterable[Any]) -> dict[str, Any]:
    """Return what the host sees of a top's IP for PCI Express: its ID, and what it can do.

    ``dma``: AMD's driver moves data; ``msix``: interrupts are MSI-X, else MSI.
    """
    config = {
        name.lower(): value
        for ip in ips
        if ip.vlnv.split(":")[2] in ("xdma", "pcie4c_uscale_plus")
        for name, value in ip.config
    }
    return {
        "device_id": config.get("pf0_device_id", ""),
        "dma": config.get("functional_mode") == "DMA",
        "msix": config.get("pf0_msix_enabled") == "true",
    }


def describe_clock(clock: Any) -> dict[str, Any]:
    """Return a clock as its template takes it: made by an IP, or entering at ``port``."""
    return {
        "name": clock.name,
        "mhz": clock.mhz,
        "period": f"{clock.period:.3f}",
        "port": clock.port,
        "pin": clock.pin,
        "made_by": clock.made_by,
    }


def core_of(emission: Emission, core: type) -> str:
    """Return the name of the design's own module inside its top."""
    result = [name for name, m in emission.modules.items() if m.kind is core]
    if len(result) != 1:
        raise ValueError(f"{emission.top.name} holds {len(result)} modules of {core.__name__}")
    return result[0]


def register_maps(emission: Emission, core: str) -> dict[str, RegisterMap]:
    """Return the register maps below the top, by the folder of the files that describe them.

    Those of the design lie where they lie without a card, others in a folder each.
    """
    maps: dict[str, RegisterMap] = {}
    for name, module in emission.modules.items():
        component: Any = module.component
        make = getattr(component, "register_map", None)
        if make is not None and module is not emission.top:
            map = make(component.params)
            maps["" if name == core else f"{map.name}/"] = map
    return maps


def below(emission: Emission, name: str) -> Emission:
    """Return ``emission`` reduced to module ``name`` and all modules below it."""
    expected = {name}
    for module in reversed(emission.modules.values()):
        if module.name in expected:
            expected |= set(module.instances)
    return Emission({n: module for n, module in emission.modules.items() if n in expected})
