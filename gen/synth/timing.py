"""Finds the logic depth: the worst path between two registers, walked bit by bit.

A path is counted in LUT levels and carry chains; muxes behind LUTs, inverters and the steps of a
chain from one slice to the next cost nothing. What stands below a module is followed through its
ports, by the costs found when it was walked itself.
"""

from collections.abc import Iterable, Mapping

from gen.synth.arrival import PATH, Arrival, advance, begin, past_child, worst_of
from gen.synth.depth import Depth, ModuleTiming
from gen.synth.graph import Graph, graph_of, sort
from gen.synth.mapping import Bit, MappedModule


def timing_of(module: MappedModule, children: Mapping[str, ModuleTiming]) -> ModuleTiming:
    """Find the paths of ``module``; ``children`` are the results of its submodules, by name."""
    graph = graph_of(module, children)
    inputs, outputs = module.port_bits("input"), module.port_bits("output")
    order, rings = sort(graph, [bit for bit, _ in graph.ends] + list(outputs))
    forward = walk(graph, order, graph.starts)
    backward = walk(graph.turned(), order[::-1], graph.ends, backward=True)
    return ModuleTiming(
        depth=worst(graph, forward, rings),
        outputs={p: forward[b] for b, ps in outputs.items() if b in forward for p in ps},
        inputs={p: backward[b] for b, ps in inputs.items() if b in backward for p in ps},
        through=passing(graph, order, inputs, outputs),
    )


def walk(
    graph: Graph,
    order: Iterable[int],
    starts: Iterable[tuple[int, Arrival]],
    backward: bool = False,
) -> dict[int, Arrival]:
    """Return how far each bit is from a start that leads to it; ``order`` has sources first."""
    arrivals: dict[int, Arrival] = {}
    for bit, arrival in starts:
        arrivals[bit] = worst_of(arrivals[bit], arrival) if bit in arrivals else arrival
    for bit in order:
        best = arrivals.get(bit)
        for way in graph.ways.get(bit, ()):
            if (source := arrivals.get(way.source)) is not None:
                arrival = advance(source, way, backward)
                best = arrival if best is None else worst_of(best, arrival)
        if best is not None:
            arrivals[bit] = best
    return arrivals


def worst(graph: Graph, forward: Mapping[int, Arrival], rings: int) -> Depth:
    """Find the worst of all paths that end in a register."""
    found: Arrival | None = None
    path: tuple[tuple, str] = ((), "")
    for bit, last in graph.ends:
        if bit in forward:
            arrival = past_child(forward[bit], last)
            path = max(path, (arrival[:PATH], last.start))
            found = arrival if found is None else worst_of(found, arrival)
    if found is None:
        return Depth(rings=rings)
    return Depth(
        levels=found.levels,
        chains=found.chains,
        carry=found.carry,
        start=found.start,
        end=path[1],
        most_levels=found.most_levels,
        most_chains=found.most_chains,
        most_carry=found.most_carry,
        rings=rings,
    )


def passing(
    graph: Graph,
    order: list[int],
    inputs: Mapping[int, list[Bit]],
    outputs: Mapping[int, list[Bit]],
) -> dict[Bit, dict[Bit, Arrival]]:
    """Return the ways from each output back to the inputs, where no register cuts."""
    needed = between(graph, order, inputs, outputs)
    arrivals: dict[int, dict[Bit, Arrival]] = {}
    for bit in order:
        if bit not in needed:
            continue
        here = {port: begin("") for port in inputs.get(bit, ())}
        for way in graph.ways.get(bit, ()):
            for port, arrival in arrivals.get(way.source, {}).items():
                more = advance(arrival, way)
                here[port] = worst_of(here[port], more) if port in here else more
        arrivals[bit] = here
    return {p: arrivals[bit] for bit, ps in outputs.items() if arrivals.get(bit) for p in ps}


def between(
    graph: Graph, order: list[int], inputs: Iterable[int], outputs: Iterable[int]
) -> set[int]:
    """Return the bits that lie on a way from an input to an output."""
    behind = set(inputs)
    for bit in order:
        if any(way.source in behind for way in graph.ways.get(bit, ())):
            behind.add(bit)
    before = set(outputs)
    for bit in reversed(order):
        if bit in before:
            before.update(way.source for way in graph.ways.get(bit, ()))
    return behind & before
