"""Makes the graph in which the paths of a netlist are walked: bits, and the arcs between them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from gen.synth.arcs import IP_LEVELS, arcs_of, carry_outputs, live, registered
from gen.synth.arrival import Arrival, Way, begin
from gen.synth.depth import ModuleTiming
from gen.synth.mapping import MappedModule


@dataclass(kw_only=True)
class Graph:
    """Holds a netlist as a graph: arcs between bits, and the bits where paths start and end."""

    ways: dict[int, list[Way]] = field(default_factory=dict)  #: arcs by the bit that they lead to
    starts: list[tuple[int, Arrival]] = field(default_factory=list)
    ends: list[tuple[int, Arrival]] = field(default_factory=list)

    def add(self, target: int, way: Way) -> None:
        """Add an arc to ``target``."""
        self.ways.setdefault(target, []).append(way)

    def turned(self) -> "Graph":
        """Make the graph in which every arc is turned round."""
        turned = Graph(starts=self.ends, ends=self.starts)
        for target, ways in self.ways.items():
            for way in ways:
                turned.add(way.source, way._replace(source=target))
        return turned


def graph_of(module: MappedModule, children: Mapping[str, ModuleTiming]) -> Graph:
    """Make the graph of a netlist; a cell of unknown type counts as all registers."""
    graph, names = Graph(), bit_names(module)
    chained = {bit for cell in module.cells.values() for bit in carry_outputs(cell)}
    for name, cell in module.cells.items():
        if cell["type"] in children:
            add_child(graph, name, cell["connections"], children[cell["type"]])
        else:
            add_primitive(graph, name, cell, names, chained)
    return graph


def add_primitive(
    graph: Graph, name: str, cell: Mapping[str, Any], names: Mapping[int, str], chained: set[int]
) -> None:
    """Add a primitive's arcs, starts and ends; without a name, it is called by what it drives."""
    arcs, ends = arcs_of(cell["type"], cell) or (
        [],
        registered(cell["connections"], outputs(cell), levels=IP_LEVELS),
    )
    for arc in arcs:
        outside = bool(arc.carry) and not arc.enters and arc.source not in chained
        graph.add(arc.target, Way(arc.source, replace(arc, enters=True) if outside else arc))
    named = not name.startswith("$")
    for bit, levels in ends.starts:
        start = name if named else names.get(bit, name)
        block = f" ({cell['type']}, {levels} levels)" if levels else ""
        graph.starts.append((bit, begin(start + block, levels)))
    if not named and ends.starts:
        name = names.get(ends.starts[0][0], name)
    graph.ends += [(bit, begin(name)) for bit in ends.ends]


def outputs(cell: Mapping[str, Any]) -> list[str]:
    """List the ports that a cell of unknown kind drives."""
    directions = cell.get("port_directions", {})
    return [name for name, direction in directions.items() if direction == "output"]


def add_child(graph: Graph, name: str, wires: Mapping[str, list[Any]], child: ModuleTiming) -> None:
    """Add what was found of a child, at the bits that this instance is connected to."""

    def at(port: str, index: int) -> list[int]:
        return list(live(wires.get(port, [])[index : index + 1]))

    @cache  # most bits of a port are arrivals alike
    def named(arrival: Arrival) -> Arrival:
        return arrival._replace(start=f"{name}.{arrival.start}")

    for bit, arrival in child.outputs.items():
        graph.starts += [(wire, named(arrival)) for wire in at(*bit)]
    for bit, arrival in child.inputs.items():
        graph.ends += [(wire, named(arrival)) for wire in at(*bit)]
    for output, sources in child.through.items():
        for target in at(*output):
            for bit, arrival in sources.items():
                for source in at(*bit):
                    graph.add(target, Way(source, None, arrival))


def bit_names(module: MappedModule) -> dict[int, str]:
    """Return the shortest name of each bit; a name such as ``held$1`` is the last choice."""
    found: dict[int, str] = {}
    for name in sorted(module.names, key=lambda name: ("$" in name, len(name), name)):
        bits = module.names[name]
        for index, bit in enumerate(bits):
            if isinstance(bit, int):
                found.setdefault(bit, f"{name}[{index}]" if len(bits) > 1 else name)
    return found


def sort(graph: Graph, roots: Iterable[int]) -> tuple[list[int], int]:
    """Return all bits that lead to ``roots``, sources first, and how many arcs close a ring."""
    order: list[int] = []
    state: dict[int, bool] = {}  # False: on the way to the root, True: done
    rings = 0
    for root in roots:
        if root in state:
            continue
        state[root] = False
        stack = [(root, iter(graph.ways.get(root, ())))]
        while stack:
            bit, ways = stack[-1]
            for way in ways:
                seen = state.get(way.source)
                if seen is None:
                    state[way.source] = False
                    stack.append((way.source, iter(graph.ways.get(way.source, ()))))
                    break
                rings += seen is False
            else:
                stack.pop()
                state[bit] = True
                order.append(bit)
    return order, rings
