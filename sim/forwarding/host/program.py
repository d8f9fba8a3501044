"""Shows and sets a forwarding switch from the command line."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sim.forwarding.host.forwarding_switch import Entry, Forwarding
from sim.host.device import DeviceError


def address(text: str) -> bytes:
    """Return the bytes of a MAC address such as 02:00:00:00:00:01."""
    octets = bytes(int(part, 16) for part in text.split(":"))
    if len(octets) != 6:
        raise ValueError(text)
    return octets


def numbers(text: str) -> list[int]:
    """Return whole numbers that commas separate; none if the text is empty."""
    return [int(part) for part in text.split(",") if part]


def shown(entry: Entry | None) -> str:
    """Return an entry of the table as a line."""
    if entry is None:
        return "no entry"
    kind = "static" if entry.static else "fresh" if entry.fresh else "old"
    return f"{entry.mac.hex(':')}  group {entry.group}  port {entry.port}  {kind}"


def ports(switch: Forwarding) -> str:
    """Return the groups of all ports."""
    lines = []
    for k in range(switch.build.fixed["ports"]):
        own, groups = switch.port(k)
        lines.append(f"port {k}: own group {own}, member of {sorted(groups)}")
    return "\n".join(lines)


def counters(switch: Forwarding, port: int) -> str:
    """Return the counters of a port that are not 0."""
    return "\n".join(f"{name} {value}" for name, value in switch.counters(port).items() if value)


#: commands: what each does, its arguments, and the function of a switch and these
COMMANDS: Mapping[str, tuple[str, Mapping[str, Any], Callable[..., Any]]] = {
    "table": ("list the MAC table", {}, lambda s: "\n".join(map(shown, s.table()))),
    "find": (
        "show the entry of an address",
        {"mac": address, "group": int},
        lambda s, mac, group: shown(s.find(mac, group)),
    ),
    "write": (
        "enter a static address",
        {"mac": address, "port": int, "group": int},
        Forwarding.write,
    ),
    "remove": ("remove an address", {"mac": address, "group": int}, Forwarding.remove),
    "clear": ("empty the MAC table", {}, Forwarding.clear_table),
    "ports": ("show the groups of all ports", {}, ports),
    "port": (
        "set a port's own group and its groups",
        {"port": int, "own_group": int, "groups": numbers},
        Forwarding.set_port,
    ),
    "vlan": (
        "set the VLAN id of a group",
        {"group": int, "vid": int},
        Forwarding.set_vlan,
    ),
    "code": (
        "set the class of a DSCP, or of 64 and a VLAN priority",
        {"code": int, "class": int},
        Forwarding.set_code,
    ),
    "share": (
        "set level and weight of a class at a port",
        {"port": int, "class": int, "level": int, "weight": int},
        Forwarding.set_share,
    ),
    "lossless": (
        "set which classes pause their senders",
        {"classes": numbers},
        Forwarding.set_lossless,
    ),
    "flooding": (
        "limit flooding: beats in 65,536 cycles, and how many are saved up",
        {"rate": int, "burst": int},
        Forwarding.set_flooding,
    ),
    "learning": ("switch learning on, 1, or off, 0", {"on": int}, Forwarding.set_learning),
    "counters": ("show the counters of a port", {"port": int}, counters),
}


def main(
    open_card: Callable[[str], AbstractContextManager[Any]],
    device: Mapping[str, Any],
    arguments: Sequence[str] | None = None,
) -> int:
    """Carry out the command line on the card that ``open_card`` opens; return the exit status."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {open_card.__module__}", description="Show and set a forwarding switch."
    )
    parser.add_argument("--device", **device)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (about, parameters, _) in COMMANDS.items():
        command = commands.add_parser(name, help=about)
        for parameter, kind in parameters.items():
            command.add_argument(parameter, type=kind)
    requested = vars(parser.parse_args(arguments))
    _, parameters, function = COMMANDS[requested["command"]]
    try:
        with open_card(requested["device"]) as switch:
            result = function(switch, *(requested[name] for name in parameters))
    except DeviceError as error:
        print(error)
        return 1
    if isinstance(result, str):
        print(result)
    return 0
