"""Checks IP-XACT against the Verilog that it describes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from gen.board.hierarchy import Hierarchy, VerilogModule
from gen.ip.ipxact import SPIRIT

NS = {"s": SPIRIT}


def check_component(
    path: Path, modules: Mapping[str, VerilogModule], folder: Path
) -> Iterator[str]:
    """Report files, ports, maps and widths in which ``component.xml`` differs from the Verilog."""
    try:
        root = ET.parse(path).getroot()
    except (ET.ParseError, OSError) as error:
        yield f"component.xml cannot be read: {error}"
        return
    name = root.findtext(".//s:view/s:modelName", "", NS)
    if name not in modules:
        yield f"component.xml is of {name}, which is no module"
        return
    ports = {
        port.findtext("s:name", "", NS): port_of(port)
        for port in root.iterfind(".//s:model/s:ports/s:port", NS)
    }
    if ports != modules[name].ports:
        odd = sorted(set(ports.items()) ^ set(modules[name].ports.items()))
        yield f"component.xml: port {odd[0][0]} is not as in the Verilog"
    for bus in root.iterfind(".//s:busInterface", NS):
        yield from check_bus(bus, modules[name].ports)
    listed = [file.findtext("s:name", "", NS) for file in root.iterfind(".//s:file", NS)]
    needed = Hierarchy(name, modules).placed() & set(modules)
    if sorted(listed) != sorted(f"rtl/{module}.v" for module in needed):
        yield f"component.xml does not list the files of {name}"
    yield from (
        f"component.xml lists {file}, which is not there"
        for file in listed
        if not (folder / file).exists()
    )


def port_of(port: ET.Element) -> tuple[str, int]:
    """Return a port's direction and width, as Verilog writes them."""
    direction = {"in": "input", "out": "output"}[port.findtext("s:wire/s:direction", "", NS)]
    left = port.findtext("s:wire/s:vector/s:left", "0", NS)
    return direction, int(left) + 1


def check_bus(bus: ET.Element, ports: Mapping[str, tuple[str, int]]) -> Iterator[str]:
    """Report ports of a bus that do not exist, or are not as wide as its parameters say."""
    name = bus.findtext("s:name", "", NS)
    values = {
        p.findtext("s:name", "", NS): p.findtext("s:value", "", NS)
        for p in bus.iterfind("s:parameters/s:parameter", NS)
    }
    widths = widths_of(values)
    for entry in bus.iterfind("s:portMaps/s:portMap", NS):
        logical = entry.findtext("s:logicalPort/s:name", "", NS)
        physical = entry.findtext("s:physicalPort/s:name", "", NS)
        if physical not in ports:
            yield f"component.xml: {name} has no port {physical}"
        elif logical in widths and ports[physical][1] != widths[logical]:
            yield (
                f"component.xml: {physical} of {name} has {ports[physical][1]} bits,"
                f" not {widths[logical]}"
            )


def widths_of(values: Mapping[str, str]) -> dict[str, int]:
    """Return the width of each logical port that follows from a bus's parameters."""
    widths: dict[str, int] = {}
    if "DATA_WIDTH" in values:
        data, address = int(values["DATA_WIDTH"]), int(values["ADDR_WIDTH"])
        widths |= {"WDATA": data, "RDATA": data, "WSTRB": data // 8}
        widths |= {"AWADDR": address, "ARADDR": address}
        widths |= dict.fromkeys(("AWID", "BID", "ARID", "RID"), int(values["ID_WIDTH"]))
    if "TDATA_NUM_BYTES" in values:
        data = int(values["TDATA_NUM_BYTES"])
        widths |= {"TDATA": 8 * data, "TKEEP": data, "TUSER": int(values["TUSER_WIDTH"])}
    return widths
