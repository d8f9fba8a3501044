"""Makes the graph in which the paths of a netlist are walked: bits, and the arcs between them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from gen.synth.arcs import IP_LEVELS, Ends, arcs_of, carry_outputs, live, registered
from gen.synth.arrival import Arrival, Route, begin, delayed
from gen.synth.clocks import ModuleClocks, clock_ports
from gen.synth.depth import ModuleTiming
from gen.synth.mapping import MappedModule

Points = dict[str, list[tuple[int, Arrival]]]  #: by clock, the bits where paths start, or end


@dataclass(kw_only=True)
class Graph:
    """Holds a netlist as a graph: arcs between bits, and the bits where paths start and end."""

    ways: dict[int, list[Route]] = field(default_factory=dict)  #: arcs by the bit that they lead to
    starts: Points = field(default_factory=lambda: defaultdict(list))
    ends: Points = field(default_factory=lambda: defaultdict(list))
    #: levels that the loads of a bit's wire take; of each bit that no flip-flop drives
    loads: Mapping[int, int] = field(default_factory=dict)

    def add(self, target: int, path: Route) -> None:
        """Add an arc to ``target``."""
        self.ways.setdefault(target, []).append(path)

    def leave(self, bit: int, arrival: Arrival) -> Arrival:
        """Return the arrival at the far ends of a bit's wire."""
        levels = self.loads.get(bit)
        return delayed(arrival, levels) if levels else arrival

    def turned(self) -> "Graph":
        """Make the graph in which every arc is turned round."""
        turned = Graph(starts=self.ends, ends=self.starts, loads=self.loads)
        for target, ways in self.ways.items():
            for path in ways:
                turned.add(path.source, path._replace(source=target))
        return turned


def graph_of(
    module: MappedModule,
    children: Mapping[str, ModuleTiming],
    clocks: ModuleClocks,
    loads: Mapping[int, int],
) -> Graph:
    """Make the graph of a netlist; a cell of unknown type counts as all registers."""
    graph, names = Graph(loads=loads), bit_names(module)
    chained = {bit for cell in module.cells.values() for bit in carry_outputs(cell)}
    for name, cell in module.cells.items():
        if cell["type"] in children:
            wires = cell["connections"]
            add_child(graph, name, wires, children[cell["type"]], clocks.of_child(name))
        else:
            ends = add_primitive(graph, cell, chained)
            if ends.starts or ends.ends:
                add_ends(graph, name, cell["type"], ends, clocks.of_primitive(cell), names)
    return graph


def add_primitive(graph: Graph, cell: Mapping[str, Any], chained: set[int]) -> Ends:
    """Add a primitive's arcs; return its starts and ends."""
    arcs, ends = arcs_of(cell["type"], cell) or (
        [],
        registered(cell["connections"], outputs(cell), clock_ports(cell), levels=IP_LEVELS),
    )
    for arc in arcs:
        outside = bool(arc.carry) and not arc.enters and arc.source not in chained
        graph.add(arc.target, Route(arc.source, replace(arc, enters=True) if outside else arc))
    return ends


def add_ends(
    graph: Graph,
    name: str,
    kind: str,
    ends: Ends,
    clocks: Iterable[str],
    names: Mapping[int, str],
) -> None:
    """Add starts and ends at a primitive of ``clocks``; without a name, it is called by a wire."""
    named = not name.startswith("$")
    for bit, levels in ends.starts:
        start = name if named else names.get(bit, name)
        block = f" ({kind}, {levels} levels)" if levels else ""
        for clock in clocks:
            graph.starts[clock].append((bit, begin(start + block, levels)))
    if not named and ends.starts:
        name = names.get(ends.starts[0][0], name)
    for clock in clocks:
        graph.ends[clock] += [(bit, begin(name)) for bit in ends.ends]


def outputs(cell: Mapping[str, Any]) -> list[str]:
    """List the ports that a cell of unknown kind drives."""
    directions = cell.get("port_directions", {})
    return [name for name, direction in directions.items() if direction == "output"]


def add_child(
    graph: Graph,
    name: str,
    wires: Mapping[str, list[Any]],
    child: ModuleTiming,
    clocks: Mapping[str, str],
) -> None:
    """Add what was found of a child, at the bits that this instance is connected to.

    ``clocks`` has the name of each of its clocks, by its own name of it.
    """

    def at(port: str, index: int) -> list[int]:
        return list(live(wires.get(port, [])[index : index + 1]))

    @cache  # most bits of a port are arrivals alike
    def named(arrival: Arrival) -> Arrival:
        return arrival._replace(start=f"{name}.{arrival.start}")

    for clock, name_here in clocks.items():
        if (paths := child.paths.get(clock)) is None:
            continue
        starts, ends = graph.starts[name_here], graph.ends[name_here]
        for bit, arrival in paths.outputs.items():
            starts += [(wire, named(arrival)) for wire in at(*bit)]
        for bit, arrival in paths.inputs.items():
            ends += [(wire, named(arrival)) for wire in at(*bit)]
        for bit, arrival in paths.returns.items():
            ends += [(wire, named(arrival)) for wire in at(*bit) if graph.loads.get(wire)]
    for output, sources in child.through.items():
        for target in at(*output):
            for bit, arrival in sources.items():
                for source in at(*bit):
                    graph.add(target, Route(source, None, arrival))


def bit_names(module: MappedModule) -> dict[int, str]:
    """Return the shortest name of each bit; a name such as ``held$1`` is the last choice."""
    result: dict[int, str] = {}
    for name in sorted(module.names, key=lambda name: ("$" in name, len(name), name)):
        bits = module.names[name]
        for index, bit in enumerate(bits):
            if isinstance(bit, int):
                result.setdefault(bit, f"{name}[{index}]" if len(bits) > 1 else name)
    return result


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
            for path in ways:
                seen = state.get(path.source)
                if seen is None:
                    state[path.source] = False
                    stack.append((path.source, iter(graph.ways.get(path.source, ()))))
                    break
                rings += seen is False
            else:
                stack.pop()
                state[bit] = True
                order.append(bit)
    return order, rings
