"""Shows and sets a forwarding switch from the command line."""

from functools import partial

from sim.forwarding.host.forwarding_switch import Entry, Forwarding
from sim.host.commands import Commands, address, numbers, run_command
from sim.host.selftest.board import MODES
from sim.host.selftest.card_checks import card_checks
from sim.host.selftest.checks import Check, run_checks


def shown(entry: Entry | None) -> str:
    """Return an entry of the table as a line."""
    if entry is None:
        return "no entry"
    kind = "static" if entry.static else "fresh" if entry.fresh else "old"
    return f"{entry.mac.hex(':')}  group {entry.group}  port {entry.port}  {kind}"


def ports(switch: Forwarding) -> str:
    """Return the groups of all ports, and which are down."""
    lines, down = [], switch.down()
    for k in range(switch.build.fixed["ports"]):
        own, groups = switch.port(k)
        lines.append(
            f"port {k}: own group {own}, member of {sorted(groups)}{', down' * (k in down)}"
        )
    return "\n".join(lines)


def counters(switch: Forwarding, port: int) -> str:
    """Return the counters of a port that are not 0."""
    return "\n".join(f"{name} {value}" for name, value in switch.counters(port).items() if value)


def checks_of(switch: Forwarding, loopback: str = "") -> dict[str, Check]:
    """Return the checks of a switch's card by name; without ``loopback`` it has no MACs."""

    def counts() -> dict[str, dict[int, dict[str, int]]]:
        return {"port": {k: switch.counters(k) for k in range(switch.build.fixed["ports"])}}

    return card_checks(switch, counts, loopback)


def loopback(text: str) -> str:
    """Return the part of a transceiver in which packets turn back; ValueError for another text."""
    if text not in MODES:
        raise ValueError(text)
    return text


COMMANDS: Commands = {
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
    "ports": ("show the groups of all ports, and which are down", {}, ports),
    "shut": ("shut ports, and open all others", {"ports": numbers}, Forwarding.shut),
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
    "test": (
        "test registers, counters and links, whose packets turn back in part pcs or pma",
        {"loopback": loopback},
        lambda switch, mode: run_checks(checks_of(switch, mode)),
    ),
}


main = partial(run_command, "Show and set a forwarding switch", COMMANDS)
