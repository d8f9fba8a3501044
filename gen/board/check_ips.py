"""The IP that a package makes, held against what its Verilog places."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from gen.board.hierarchy import Hierarchy
from gen.board.tcl import Command, TclError, commands, elements
from hdl.u280.vendor import VendorIp

#: cells of the FPGA that components place; a top says which others it places
PRIMITIVES = ("DSP48E2",)

#: kind of IP -> property that is a width, and the ports that must have it
WIDTHS = {
    "axi_clock_converter": {"DATA_WIDTH": "[ms]_axi_[rw]data", "ADDR_WIDTH": "[ms]_axi_a[rw]addr"},
    "axi_crossbar": {
        "ADDR_WIDTH": "s_axi_a[rw]addr",
        "DATA_WIDTH": "s_axi_[rw]data",
        "ID_WIDTH": "s_axi_(a[rw]|[rb])id",
    },
    "axi_dwidth_converter": {
        "ADDR_WIDTH": "[ms]_axi_a[rw]addr",
        "MI_DATA_WIDTH": "m_axi_[rw]data",
        "SI_DATA_WIDTH": "s_axi_[rw]data",
        "SI_ID_WIDTH": "s_axi_(a[rw]|[rb])id",
    },
    "axi_protocol_converter": {
        "ADDR_WIDTH": "[ms]_axi_a[rw]addr",
        "DATA_WIDTH": "[ms]_axi_[rw]data",
    },
    "xdma": {
        "axi_addr_width": "[ms]_axib?_a[rw]addr",
        "axi_data_width": "[ms]_axib?_[rw]data",
        "xdma_num_usr_irq": "usr_irq_(req|ack)",
    },
}


def check_ips(
    script: Path, hierarchy: Hierarchy, ips: Sequence[VendorIp], primitives: Sequence[VendorIp]
) -> Iterator[str]:
    """Each IP is made once, placed, and as wide as its ports; each module that is placed is known.

    ``ips`` and ``primitives`` are what the top says it places.
    """
    try:
        said = commands(script.read_text())
    except (TclError, OSError) as error:
        yield f"{script.name} is not Tcl: {error}"
        return
    made = Counter(c.option("-module_name") or "" for c in said if c.name == "create_ip")
    yield from (f"IP {name} is made {n} times" for name, n in made.items() if n > 1)
    boxes = hierarchy.placed() - set(hierarchy.modules)
    yield from (f"IP {name} is placed nowhere" for name in sorted(set(made) - boxes))
    known = {*made, *PRIMITIVES, *(primitive.name for primitive in primitives)}
    for name in sorted(boxes - known):
        yield f"module {name} is placed, but is no file, no IP and no primitive"
    for name in sorted(set(hierarchy.modules) - hierarchy.placed()):
        yield f"module {name} is placed nowhere"
    config = config_of(said)
    for ip in ips:
        yield from check_widths(ip, config.get(ip.name, {}))


def config_of(script: Sequence[Command]) -> dict[str, dict[str, str]]:
    """Properties of each IP in the script that makes it."""
    config: dict[str, dict[str, str]] = {}
    for command in script:
        pairs = command.option("-dict")
        if command.name != "set_property" or pairs is None:
            continue
        words = elements(pairs)
        settings = dict(zip(words[::2], words[1::2], strict=True))
        names = [c.words[1] for c in command.calls if c.name == "get_ips"]
        config |= {
            ip: {name.removeprefix("CONFIG."): value for name, value in settings.items()}
            for ip in names
        }
    return config


def check_widths(ip: VendorIp, config: dict[str, str]) -> Iterator[str]:
    """The ports of ``ip`` have the widths that its properties give them."""
    for name, ports in WIDTHS.get(ip.vlnv.split(":")[2], {}).items():
        if not (digits := re.match(r"\d+", config.get(name, ""))):
            continue
        for port in ip.ports:
            if re.fullmatch(ports, port.name) and port.bits != int(digits[0]):
                yield f"{ip.name}: {port.name} has {port.bits} bits, {name} is {config[name]}"


def check_instances(hierarchy: Hierarchy) -> Iterator[str]:
    """Every instance connects ports that its module has, and all of the inputs."""
    for module in hierarchy.modules.values():
        for instance, kind in module.instances.items():
            connected = set(module.connected[instance])
            if kind in hierarchy.modules:
                ports = hierarchy.modules[kind].ports
                needed = {name for name, (direction, _) in ports.items() if direction == "input"}
            elif kind in hierarchy.boxes:
                ports, needed = set(hierarchy.boxes[kind]), set()
            else:
                continue
            where = f"{instance} in {module.name}"
            yield from (f"{where}: {kind} has no port {p}" for p in sorted(connected - set(ports)))
            yield from (f"{where}: input {p} is left open" for p in sorted(needed - connected))
