"""Writes everything beside the Verilog by which OpenNIC's build takes a plugin.

The layout is that of Xilinx/open-nic-shell, README, "User Plugin Integration"; ``script/build.tcl``
there says what it reads of it and when.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gen.base.emission.emit import Emission, emit
from gen.base.registers.documents import register_documents
from gen.base.templates import render
from gen.designs.design import Design
from gen.output.folder import MANIFEST
from gen.output.manifest import write_files, write_manifest
from gen.shells.opennic.check import problems
from hdl.opennic.address_map import AddressMap
from hdl.opennic.box import MAX_PACKET_BYTES, PORTS, RESETS, WINDOW
from hdl.opennic.registers import BASE

HERE = Path(__file__).parent
BOX = "box_250mhz"
MAP = f"{BOX}/{BOX}_address_map.v"  #: the file that the build reads the address map from
#: file of the plugin <- template
TEMPLATES = {
    f"{BOX}/user_plugin_250mhz_inst.vh": "user_plugin_inst.vh.j2",
    f"{BOX}/{BOX}_address_map_inst.vh": "address_map_inst.vh.j2",
    f"{BOX}/{BOX}_axi_crossbar.tcl": "axi_crossbar.tcl.j2",
    f"build_{BOX}.tcl": "build_box.tcl.j2",
    "README.md": "README.md.j2",
}
#: a plugin's bus of packets <- the box's
STREAMS = {
    "s_axis_rx": "s_axis_adap_rx_250mhz",
    "m_axis_tx": "m_axis_adap_tx_250mhz",
    "s_axis_h2c": "s_axis_qdma_h2c",
    "m_axis_c2h": "m_axis_qdma_c2h",
}


def write_plugin(folder: Path, emission: Emission, design: Design) -> dict[str, str]:
    """Add the plugin's files to the design in ``folder``, and check the whole.

    Returns the hashes of the files by name, the manifest's too. ValueError says what does not fit.
    """
    manifest = json.loads((folder / MANIFEST).read_text())
    hashes = write_files(folder, plugin_files(emission, design))
    manifest["files"] |= hashes
    written = write_manifest(folder, manifest)
    if result := problems(folder):
        raise ValueError("\n".join(result))
    return hashes | written


def plugin_files(emission: Emission, design: Design) -> dict[str, str | bytes]:
    """Return the files of a plugin by name, except its Verilog."""
    top: Any = emission.top.component
    address_map = emit(AddressMap(top.address_map)).top
    names = {
        "design": design.name,
        "about": design.about,
        "top": emission.top.name,
        "map_top": address_map.name,
        "rtl": [f"rtl/{module}.v" for module in emission.modules],
        "plugin_ports": list(connections(emission.top.ports)),
        "map_ports": [(p.name, on_map(p.name)) for p in address_map.ports],
        "buses": [p for p in address_map.ports if p.name.startswith("m_axil")],
        "maps": list(zip((0, BASE), top.maps, strict=True)),
        **{"ports": PORTS, "resets": RESETS, "window": WINDOW, "most": MAX_PACKET_BYTES},
    }
    files: dict[str, str | bytes] = {n: render(HERE, t, **names) for n, t in TEMPLATES.items()}
    head = render(HERE, "address_map.v.j2", **names)
    files[MAP] = head + address_map.verilog
    for map in top.maps:
        files |= {f"registers/{map.name}/{n}": t for n, t in register_documents(map).items()}
    return files


def connections(ports: Any) -> Iterator[tuple[str, str]]:
    """Yield each port of a plugin with what the box connects to it."""
    fixed = {"clk": "axis_aclk", "rst": "1'b0", "axil_clk": "axil_aclk", "axil_rst": "1'b0"}
    fixed |= {"mod_rstn": "mod_rstn[0]", "mod_rst_done": "mod_rst_done[0]"}
    fixed |= {"resets": "plugin_resets"}
    for port in ports:
        if port.name in fixed:
            yield port.name, fixed[port.name]
        elif port.name.startswith("s_axil"):
            yield port.name, port.name.replace("s_axil", "plugin_axil")
        else:
            bus = next(bus for bus in STREAMS if port.name.startswith(f"{bus}_"))
            number, _, signal = port.name.removeprefix(f"{bus}_").partition("_")
            first = int(number) * port.bits
            bits = f"{first + port.bits - 1}:{first}" if port.bits > 1 else number
            yield port.name, f"{STREAMS[bus]}_{signal}[{bits}]"


def on_map(name: str) -> str:
    """Return what the box connects to a port of the address map."""
    fixed = {"clk": "axil_aclk", "rst": "!internal_box_rstn", "resets": "plugin_resets"}
    return fixed.get(name, name.replace("m_axil", "plugin_axil"))
