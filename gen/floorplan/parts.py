"""Parts and links of an emitted design, as a plan cuts it."""

from collections.abc import Iterable
from typing import Protocol

from gen.emit import Emission
from gen.floorplan.cells import cells_of
from gen.floorplan.hierarchy import Hierarchy
from gen.floorplan.model import Floorplan, Link, Part
from gen.floorplan.plan import Plan
from gen.floorplan.solver import solve
from gen.floorplan.wires import Wire, Wires
from gen.synth.device import Device
from gen.synth.resources import Resources


class Synthesis(Protocol):
    """What must be known of the modules of a design."""

    def inclusive(self, name: str) -> Resources:
        """Of a module with everything inside."""
        ...


def floorplan(emission: Emission, synthesis: Synthesis, device: Device, plan: Plan) -> Floorplan:
    """The best placement of ``emission`` on ``device``; FloorplanError says why there is none."""
    parts, links = parts_and_links(emission, synthesis, plan)
    return solve(parts, links, device)


def parts_and_links(
    emission: Emission, synthesis: Synthesis, plan: Plan
) -> tuple[list[Part], list[Link]]:
    """What ``plan`` makes of ``emission``.

    IP of the vendor takes nothing here: a device's shell counts it. Logic between instances is
    counted for the part around them. A wire to several parts makes links that share their wires.
    """
    hierarchy = Hierarchy(emission, plan)
    amounts: dict[str, Resources] = dict.fromkeys(hierarchy.slrs, Resources())
    for leaf in hierarchy.leaves:
        if leaf.module is not None:
            amounts[leaf.owner] += synthesis.inclusive(leaf.module.name)
    for place in hierarchy.places:
        if place.module is not None:
            amounts[place.owner] += between(emission, synthesis, place.module.name)
    cells = cells_of(hierarchy)
    parts = [
        Part(
            name=name,
            cells=tuple("/".join(path) for path in cells.get(name, ())),
            resources=amounts[name],
            slr=slr,
        )
        for name, slr in hierarchy.slrs.items()
    ]
    return parts, links_of(Wires(hierarchy, vendor_outputs(emission)))


def between(emission: Emission, synthesis: Synthesis, name: str) -> Resources:
    """Of a module without the modules that are inside."""
    inside = (
        times * synthesis.inclusive(child)
        for child, times in emission.modules[name].instances.items()
    )
    return synthesis.inclusive(name) - sum(inside, Resources())


def vendor_outputs(emission: Emission) -> dict[str, dict[str, bool]]:
    """By IP and port, whether it is an output."""
    return {
        ip.name: {port.name: port.direction != "input" for port in ip.ports}
        for module in emission.modules.values()
        for ip in getattr(module.component, "vendor_ips", ())
    }


def links_of(wires: Iterable[Wire]) -> list[Link]:
    """Wires that join the same parts in the same way, as one bundle."""
    links: list[Link] = []
    bundles: dict[tuple, list[str]] = {}
    for wire in wires:
        bundles.setdefault((wire.source, wire.sinks), []).append(wire.port)
    for (source, sinks), ports in sorted(bundles.items()):
        names = ", ".join(part + (" by registers" if ways else "") for part, ways in sinks)
        shared = f"{source} to {names}" if len(sinks) > 1 else None
        for part, registered in sinks:
            links.append(
                Link(
                    a=source,
                    b=part,
                    wires=len(ports),
                    registered=registered,
                    shared=shared,
                    example=min(filter(None, ports), default=""),
                )
            )
    return links
