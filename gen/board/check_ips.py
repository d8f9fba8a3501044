"""Checks the IP that a package makes against what its Verilog places."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from gen.board.hierarchy import Hierarchy
from gen.board.ip_table import check_ip
from gen.board.tcl import Command, TclError, commands, elements
from hdl.u280.vendor import VendorIp

#: cells of the FPGA that components place; a top says which others it places
PRIMITIVES = ("DSP48E2",)


def check_ips(
    script: Path, hierarchy: Hierarchy, ips: Sequence[VendorIp], primitives: Sequence[VendorIp]
) -> Iterator[str]:
    """Report IP that is not made once, not placed, or unlike its guide, and modules nobody knows.

    ``ips`` and ``primitives`` are what the top says it places.
    """
    try:
        said = commands(script.read_text())
    except (TclError, OSError) as error:
        yield f"{script.name} is not Tcl: {error}"
        return
    built = Counter(c.option("-module_name") or "" for c in said if c.name == "create_ip")
    yield from (f"IP {name} is made {n} times" for name, n in built.items() if n > 1)
    boxes = hierarchy.placed() - set(hierarchy.modules)
    yield from (f"IP {name} is placed nowhere" for name in sorted(set(built) - boxes))
    known = {*built, *PRIMITIVES, *(primitive.name for primitive in primitives)}
    for name in sorted(boxes - known):
        yield f"module {name} is placed, but is no file, no IP and no primitive"
    for name in sorted(set(hierarchy.modules) - hierarchy.placed()):
        yield f"module {name} is placed nowhere"
    config = config_of(said)
    kinds = {c.option("-module_name"): c.option("-name") for c in said if c.name == "create_ip"}
    for ip in ips:
        if ip.name in kinds:
            yield from check_ip(ip, kinds[ip.name] or "", config.get(ip.name, {}))


def config_of(script: Sequence[Command]) -> dict[str, dict[str, str]]:
    """Return the properties of each IP in the script that makes it."""
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


def check_instances(hierarchy: Hierarchy) -> Iterator[str]:
    """Report instances that connect ports their module lacks, or leave inputs open."""
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
