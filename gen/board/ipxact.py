"""Writes IP-XACT of a design's core, as Vivado's catalogue reads it (SPIRIT 1685-2009).

Bus interfaces come from the component's signature, ports from its emitted module. Frequencies are
those of a clock at ``mhz``; resets are active high.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any
from xml.etree import ElementTree as ET

from amaranth.lib import wiring

from gen.base.emission.emit import EmittedModule
from hdl.common.axi import (
    Axi4Signature,
    AxiLiteSignature,
    AxiReadSignature,
    AxiStreamSignature,
    AxiWriteSignature,
)

SPIRIT = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
XILINX = "http://www.xilinx.com"
VIEW = "xilinx_anylanguagesynthesis"
FILES = f"{VIEW}_view_fileset"
INTERRUPTS = ("irq",)  #: ports that are level interrupts, active high

#: signature -> bus of the catalogue, AXI protocol, which channels it has
AXI = {
    Axi4Signature: ("aximm", "AXI4", "READ_WRITE"),
    AxiReadSignature: ("aximm", "AXI4", "READ_ONLY"),
    AxiWriteSignature: ("aximm", "AXI4", "WRITE_ONLY"),
    AxiLiteSignature: ("aximm", "AXI4LITE", "READ_WRITE"),
    AxiStreamSignature: ("axis", "", ""),
}


@dataclass(frozen=True, kw_only=True)
class Bus:
    """Describes a bus interface: its kind in the catalogue, its ports, its parameters."""

    name: str
    kind: str  #: aximm, axis, clock, reset, interrupt
    library: str = "interface"  #: or signal
    master: bool
    ports: Mapping[str, str]  #: logical -> physical
    parameters: Mapping[str, object]

    @property
    def address_bits(self) -> int | None:
        """Return the width of the addresses of a memory-mapped bus."""
        value = self.parameters.get("ADDR_WIDTH")
        return value if isinstance(value, int) else None


def buses(signature: wiring.Signature) -> Iterator[Bus]:
    """Yield the AXI interfaces of a component; each element of an array is one."""
    for name, member in signature.members.items():
        if not member.is_signature:
            continue
        kind: Any = member.signature  # as its owner sees it: turned round, it is a slave's
        master = not isinstance(kind, wiring.FlippedSignature)
        kind = kind if master else kind.flip()
        if type(kind) not in AXI:
            continue
        for index in product(*map(range, member.dimensions)):
            yield axi_bus("_".join(map(str, (name, *index))), kind, master=master)


def axi_bus(name: str, signature: Any, *, master: bool) -> Bus:
    """Return one AXI interface whose ports are called ``name_...``."""
    kind, protocol, mode = AXI[type(signature)]
    parameters: dict[str, object] = {}
    if kind == "axis":
        parameters |= {"TDATA_NUM_BYTES": signature.data_bits // 8, "TUSER_WIDTH": 1}
        parameters |= {"HAS_TKEEP": 1, "HAS_TLAST": 1, "HAS_TREADY": 1}
    else:
        parameters |= {"PROTOCOL": protocol, "READ_WRITE_MODE": mode}
        parameters |= {
            "DATA_WIDTH": getattr(signature, "data_bits", 32),
            "ADDR_WIDTH": signature.address_bits,
            "ID_WIDTH": getattr(signature, "id_bits", 0),
        }
    return Bus(
        name=name,
        kind=kind,
        master=master,
        ports={member.upper(): f"{name}_{member}" for member in signature.members},
        parameters=parameters,
    )


def signals(module: EmittedModule, buses: Sequence[Bus], mhz: float) -> Iterator[Bus]:
    """Yield the interfaces of a core's clock, reset and interrupts."""
    if any(port.name == "clk" for port in module.ports):
        associated = ":".join(bus.name for bus in buses)
        clock = {"ASSOCIATED_BUSIF": associated, "ASSOCIATED_RESET": "rst"}
        yield signal("clk", "clock", "CLK", clock | {"FREQ_HZ": round(mhz * 1e6)})
        yield signal("rst", "reset", "RST", {"POLARITY": "ACTIVE_HIGH"})
    for port in module.ports:
        if port.name in INTERRUPTS:
            sensitivity = {"SENSITIVITY": "LEVEL_HIGH"}
            yield signal(port.name, "interrupt", "INTERRUPT", sensitivity, master=True)


def signal(
    port: str, kind: str, logical: str, parameters: Mapping[str, object], *, master: bool = False
) -> Bus:
    """Return an interface that is a single wire."""
    return Bus(
        name=port,
        kind=kind,
        library="signal",
        master=master,
        ports={logical: port},
        parameters=parameters,
    )


def component_xml(
    module: EmittedModule, files: Sequence[str], *, about: str, families: Sequence[str], mhz: float
) -> str:
    """Return the text of ``component.xml`` for ``module``, which is made of ``files``."""
    axi = list(buses(module.component.signature))
    interfaces = [*axi, *signals(module, axi, mhz)]
    root = ET.Element(spirit("component"))
    vlnv = (("vendor", "ingather"), ("library", "user"), ("name", module.name), ("version", "1.0"))
    for tag, text in vlnv:
        add(root, tag, text)
    add_all(add(root, "busInterfaces"), (bus_interface(bus) for bus in interfaces))
    mapped = [bus for bus in axi if bus.address_bits]
    add_all(add(root, "addressSpaces"), (address_space(bus) for bus in mapped if bus.master))
    add_all(add(root, "memoryMaps"), (memory_map(bus) for bus in mapped if not bus.master))
    add_model(root, module)
    file_set = add(add(root, "fileSets"), "fileSet")
    add(file_set, "name", FILES)
    for name in files:
        file = add(file_set, "file")
        add(file, "name", name)
        add(file, "fileType", "verilogSource")
    add(root, "description", about)
    parameter = add(add(root, "parameters"), "parameter")
    add(parameter, "name", "Component_Name")
    identity = {"resolve": "user", "id": "PARAM_VALUE.Component_Name", "order": "1"}
    add(parameter, "value", f"{module.name}_v1_0", **identity)
    add_extensions(root, module.name, families)
    for element in list(root):
        if not len(element) and not element.text:
            root.remove(element)  # an empty list is not allowed
    return to_text(root)


def bus_interface(bus: Bus) -> ET.Element:
    """Return the ``busInterface`` element of one bus."""
    element = ET.Element(spirit("busInterface"))
    add(element, "name", bus.name)
    for tag, name in (("busType", bus.kind), ("abstractionType", f"{bus.kind}_rtl")):
        add(element, tag, vendor="xilinx.com", library=bus.library, name=name, version="1.0")
    side = add(element, "master" if bus.master else "slave")
    if bus.address_bits:
        reference = "addressSpaceRef" if bus.master else "memoryMapRef"
        add(side, reference, **{reference: bus.name})
    maps = add(element, "portMaps")
    for logical, physical in bus.ports.items():
        one = add(maps, "portMap")
        add(add(one, "logicalPort"), "name", logical)
        add(add(one, "physicalPort"), "name", physical)
    values = add(element, "parameters")
    for name, value in bus.parameters.items():
        parameter = add(values, "parameter")
        add(parameter, "name", name)
        add(parameter, "value", str(value), id=f"BUSIFPARAM_VALUE.{bus.name.upper()}.{name}")
    return element


def address_space(bus: Bus) -> ET.Element:
    """Return the element of the address space that a master reaches."""
    element = ET.Element(spirit("addressSpace"))
    add(element, "name", bus.name)
    add(element, "range", str(1 << (bus.address_bits or 0)), format="long")
    add(element, "width", str(bus.parameters["DATA_WIDTH"]), format="long")
    return element


def memory_map(bus: Bus) -> ET.Element:
    """Return the element of the addresses that a slave answers to."""
    element = ET.Element(spirit("memoryMap"))
    add(element, "name", bus.name)
    block = add(element, "addressBlock")
    add(block, "name", "reg0" if bus.parameters["PROTOCOL"] == "AXI4LITE" else "mem0")
    add(block, "baseAddress", "0", format="long")
    # Vivado maps 4 KB at least.
    add(block, "range", str(max(4096, 1 << (bus.address_bits or 0))), format="long")
    add(block, "width", str(bus.parameters["DATA_WIDTH"]), format="long")
    add(block, "usage", "register" if bus.parameters["PROTOCOL"] == "AXI4LITE" else "memory")
    return element


def add_model(root: ET.Element, module: EmittedModule) -> None:
    """Add the view for synthesis, and all ports, to the document."""
    model = add(root, "model")
    view = add(add(model, "views"), "view")
    add(view, "name", VIEW)
    add(view, "displayName", "Synthesis")
    add(view, "envIdentifier", ":vivado.xilinx.com:synthesis")
    add(view, "language", "Verilog")
    add(view, "modelName", module.name)
    add(add(view, "fileSetRef"), "localName", FILES)
    ports = add(model, "ports")
    for port in module.ports:
        element = add(ports, "port")
        add(element, "name", port.name)
        wire = add(element, "wire")
        add(wire, "direction", {"input": "in", "output": "out"}[port.direction])
        if port.bits > 1:
            vector = add(wire, "vector")
            add(vector, "left", str(port.bits - 1), format="long")
            add(vector, "right", "0", format="long")
        kind = add(add(wire, "wireTypeDefs"), "wireTypeDef")
        add(kind, "typeName", "std_logic_vector" if port.bits > 1 else "std_logic")
        add(kind, "viewNameRef", VIEW)


def add_extensions(root: ET.Element, name: str, families: Sequence[str]) -> None:
    """Add the extensions that only Vivado reads."""
    core = ET.SubElement(add(root, "vendorExtensions"), xilinx("coreExtensions"))
    supported = ET.SubElement(core, xilinx("supportedFamilies"))
    for family in families:
        element = ET.SubElement(supported, xilinx("family"), {xilinx("lifeCycle"): "Production"})
        element.text = family
    taxonomies = ET.SubElement(core, xilinx("taxonomies"))
    ET.SubElement(taxonomies, xilinx("taxonomy")).text = "/UserIP"
    ET.SubElement(core, xilinx("displayName")).text = name
    ET.SubElement(core, xilinx("coreRevision")).text = "1"


def spirit(name: str) -> str:
    """Return a tag of the standard's namespace."""
    return f"{{{SPIRIT}}}{name}"


def xilinx(name: str) -> str:
    """Return a tag of the vendor's namespace."""
    return f"{{{XILINX}}}{name}"


def add(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    """Add a new last child to ``parent`` and return it."""
    keys = {spirit(name): value for name, value in attributes.items()}
    element = ET.SubElement(parent, spirit(tag), keys)
    element.text = text
    return element


def add_all(parent: ET.Element, children: Iterator[ET.Element]) -> None:
    """Add children to ``parent``."""
    parent.extend(children)


def to_text(root: ET.Element) -> str:
    """Return the document as indented text."""
    ET.register_namespace("spirit", SPIRIT)
    ET.register_namespace("xilinx", XILINX)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
