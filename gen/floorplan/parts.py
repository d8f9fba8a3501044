"""Finds the parts and links of an emitted design, as a plan cuts it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from gen.base.emission.emit import Emission
from gen.floorplan.cells import cells_of
from gen.floorplan.held import held_of
from gen.floorplan.hierarchy import Hierarchy
from gen.floorplan.model import Floorplan, Link, Part
from gen.floorplan.plan import Plan
from gen.floorplan.solver import solve
from gen.floorplan.wires import Wire, Wires
from gen.synth.device import Device
from gen.synth.resources import Resources


class Synthesis(Protocol):
    """Says what must be known of the resources of a design's modules."""

    def inclusive(self, name: str) -> Resources:
        """Return the resources of a module with everything inside."""
        ...


def floorplan(emission: Emission, synthesis: Synthesis, device: Device, plan: Plan) -> Floorplan:
    """Find the best placement of ``emission``; raise FloorplanError if there is none."""
    hierarchy = Hierarchy(emission, plan)
    wires = Wires(hierarchy, vendor_outputs(emission))
    result = solve(parts_of(hierarchy, synthesis), links_of(wires), device)
    return replace(result, held=tuple(held_of(hierarchy, wires, result.assignment)))


def parts_and_links(
    emission: Emission, synthesis: Synthesis, plan: Plan
) -> tuple[list[Part], list[Link]]:
    """Return the parts into which ``plan`` cuts ``emission``, and the links between them."""
    hierarchy = Hierarchy(emission, plan)
    wires = Wires(hierarchy, vendor_outputs(emission))
    return parts_of(hierarchy, synthesis), links_of(wires)


def parts_of(hierarchy: Hierarchy, synthesis: Synthesis) -> list[Part]:
    """Return the parts with the resources that they take.

    IP of the vendor takes nothing here: a device's shell counts it. Logic between instances is
    counted for the part around them.
    """
    amounts: dict[str, Resources] = dict.fromkeys(hierarchy.slrs, Resources())
    for leaf in hierarchy.leaves:
        if leaf.module is not None:
            amounts[leaf.owner] += synthesis.inclusive(leaf.module.name)
    for place in hierarchy.places:
        if place.module is not None:
            amounts[place.owner] += between(hierarchy.emission, synthesis, place.module.name)
    cells = cells_of(hierarchy)
    return [
        Part(
            name=name,
            cells=tuple("/".join(path) for path in cells.get(name, ())),
            resources=amounts[name],
            slr=slr,
        )
        for name, slr in hierarchy.slrs.items()
    ]


def between(emission: Emission, synthesis: Synthesis, name: str) -> Resources:
    """Return the resources of a module without the modules inside it."""
    inside = (
        times * synthesis.inclusive(child)
        for child, times in emission.modules[name].instances.items()
    )
    return synthesis.inclusive(name) - sum(inside, Resources())


def vendor_outputs(emission: Emission) -> dict[str, dict[str, bool]]:
    """Map each port of each vendor's IP to whether it is an output."""
    return {
        ip.name: {port.name: port.direction != "input" for port in ip.ports}
        for module in emission.modules.values()
        for ip in getattr(module.component, "vendor_ips", ())
    }


def links_of(wires: Iterable[Wire]) -> list[Link]:
    """Return the links: wires that join the same parts over as many registers are one.

    A wire to several parts makes links that share their wires.
    """
    links: list[Link] = []
    bundles: dict[tuple, list[str]] = {}
    for wire in wires:
        bundles.setdefault((wire.source, wire.sinks), []).append(wire.port)
    for (source, sinks), ports in sorted(bundles.items()):
        names = ", ".join(part + (" by registers" if reach else "") for part, reach in sinks)
        shared = f"{source} to {names}" if len(sinks) > 1 else None
        for part, reach in sinks:
            links.append(
                Link(
                    a=source,
                    b=part,
                    wires=len(ports),
                    reach=reach,
                    shared=shared,
                    example=min(filter(None, ports), default=""),
                )
            )
    return links
