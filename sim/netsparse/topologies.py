"""Makes the topology of a cluster from its name, as on the command line."""

import re

from hdl.netsparse.limits import MAX_PORTS
from sim.netsparse.dragonfly import Dragonfly
from sim.netsparse.hyperx import HyperX
from sim.netsparse.leaf_spine import LeafSpine
from sim.netsparse.topology import Topology
from sim.netsparse.topology_names import DRAGONFLY, FORMS, HYPERX, LEAF_SPINE


def topology_of(text: str, nodes: int, racks: int, spines: int) -> Topology:
    """Return the topology of that name; only a leaf-spine's follows from ``racks`` and ``spines``.

    Raises ValueError for another text, and for nodes and switches that cannot be so.
    """
    if text == LEAF_SPINE:
        each, spines = shared(nodes, racks), spines if racks > 1 else 0
        if each + spines > MAX_PORTS:
            raise ValueError(
                f"nodes of a rack and spines must be at most {MAX_PORTS} together, the ports of"
                f" its switch: {each} and {spines}; --racks spreads nodes over more racks"
            )
        return LeafSpine(racks=racks, nodes_per_rack=each, spines=spines)
    match = re.fullmatch(r"(\w+):(\d+(?:x\d+)*)(?::(\d+))?", text, re.ASCII)
    if match is None or match[1] not in (HYPERX, DRAGONFLY):
        raise ValueError(f"topology must be {FORMS}: {text}")
    sizes = tuple(map(int, match[2].split("x")))
    result = hyperx(nodes, sizes, match[3]) if match[1] == HYPERX else None
    result = result or dragonfly(nodes, sizes, match[3])
    if result.ports(0) > MAX_PORTS:
        raise ValueError(
            f"a switch must have at most {MAX_PORTS} ports, for nodes and links to other switches:"
            f" {result.ports(0)}"
        )
    return result


def hyperx(nodes: int, sizes: tuple[int, ...], width: str | None) -> HyperX:
    """Return a HyperX of these sizes, with one link between two racks unless it is told."""
    racks = 1
    for size in sizes:
        racks *= size
    each = shared(nodes, racks) if racks else 1
    return HyperX(sizes=sizes, nodes_per_rack=each, width=int(width or 1))


def dragonfly(nodes: int, sizes: tuple[int, ...], links: str | None) -> Dragonfly:
    """Return a Dragonfly of groups and racks, with a link at each rack to each other group."""
    if len(sizes) != 2:
        raise ValueError(f"a Dragonfly has two sizes, of groups and of racks: {len(sizes)}")
    groups, group = sizes
    each = shared(nodes, groups * group) if groups and group else 1
    links_between = group if links is None else int(links)
    return Dragonfly(groups=groups, group=group, nodes_per_rack=each, links_between=links_between)


def shared(nodes: int, racks: int) -> int:
    """Return the nodes of each rack; raise ValueError unless all have as many."""
    if nodes % racks:
        raise ValueError(
            f"nodes must be as many in each rack: {nodes} are not divisible by {racks} racks"
        )
    return nodes // racks
