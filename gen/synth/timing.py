"""Finds the logic depth: the worst path between two registers, walked bit by bit.

A path is counted in LUT levels and carry chains, a wire that no flip-flop drives in levels for its
loads; muxes behind LUTs, inverters and the steps of a chain from one slice to the next cost
nothing. A path between registers of different clocks is none: constraints hold it. What stands
below a module is followed through its ports, by the costs found when it was walked itself.
"""

from collections.abc import Iterable, Mapping

from gen.synth.arrival import PATH, Arrival, advance, begin, past_child, worst_of
from gen.synth.clocks import ModuleClocks
from gen.synth.depth import ClockPaths, Depth, ModuleTiming, deepest
from gen.synth.graph import Graph, graph_of, sort
from gen.synth.mapping import Bit, MappedModule

Ports = Mapping[int, list[Bit]]  #: the wires at ports, and the port bits that each one is


def timing_of(
    module: MappedModule, children: Mapping[str, ModuleTiming], loads: Mapping[int, int]
) -> ModuleTiming:
    """Find the paths of ``module``; ``children`` are the results of its submodules, by name.

    ``loads`` are the levels for the loads of bits, as :func:`gen.synth.fan_out.nets_of` has them.
    """
    clocks = ModuleClocks(module, children)
    graph = graph_of(module, children, clocks, loads)
    inputs, outputs = module.port_bits("input"), module.port_bits("output")
    order, rings = sort(
        graph, [bit for ends in graph.ends.values() for bit, _ in ends] + [*outputs]
    )
    turned, back = graph.turned(), order[::-1]
    paths = {}
    for clock in {**graph.starts, **graph.ends}:
        forward = walk(graph, order, graph.starts[clock])
        backward = walk(turned, back, graph.ends[clock], backward=True)
        logic = {bit: ports for bit, ports in outputs.items() if bit in loads}
        paths[clock] = ClockPaths(
            depth=worst(graph, forward, clock),
            outputs=at_ports(forward, outputs),
            inputs=at_ports(backward, inputs),
            returns=at_ports(backward, logic),
        )
    return ModuleTiming(
        depth=deepest([Depth(rings=rings), *(result.depth for result in paths.values())]),
        paths=paths,
        clock_outputs=clocks.outputs(),
        clocks_below=clocks.in_children(),
        through=passing(graph, order, inputs, outputs),
    )


def at_ports(arrivals: Mapping[int, Arrival], ports: Ports) -> dict[Bit, Arrival]:
    """Return the arrivals at port bits."""
    return {port: arrivals[bit] for bit, at in ports.items() if bit in arrivals for port in at}


def walk(
    graph: Graph,
    order: Iterable[int],
    starts: Iterable[tuple[int, Arrival]],
    backward: bool = False,
) -> dict[int, Arrival]:
    """Return how far each bit is from a start that leads to it; ``order`` has sources first.

    The levels for a bit's own loads are not in its arrival, but in those behind it.
    """
    arrivals: dict[int, Arrival] = {}
    for bit, arrival in starts:
        arrivals[bit] = worst_of(arrivals[bit], arrival) if bit in arrivals else arrival
    for bit in order:
        best = arrivals.get(bit)
        for path in graph.ways.get(bit, ()):
            if (source := arrivals.get(path.source)) is not None:
                arrival = advance(graph.leave(path.source, source), path, backward)
                best = arrival if best is None else worst_of(best, arrival)
        if best is not None:
            arrivals[bit] = best
    return arrivals


def worst(graph: Graph, forward: Mapping[int, Arrival], clock: str) -> Depth:
    """Find the worst of all paths that end in a register of ``clock``."""
    result: Arrival | None = None
    path: tuple[tuple, str] = ((), "")
    for bit, last in graph.ends[clock]:
        if bit in forward:
            arrival = past_child(graph.leave(bit, forward[bit]), last)
            path = max(path, (arrival[:PATH], last.start))
            result = arrival if result is None else worst_of(result, arrival)
    if result is None:
        return Depth()
    return Depth(
        levels=result.levels,
        chains=result.chains,
        carry=result.carry,
        start=result.start,
        end=path[1],
        most_levels=result.most_levels,
        most_chains=result.most_chains,
        most_carry=result.most_carry,
    )


def passing(
    graph: Graph, order: list[int], inputs: Ports, outputs: Ports
) -> dict[Bit, dict[Bit, Arrival]]:
    """Return the ways from each output back to the inputs, where no register cuts."""
    needed = between(graph, order, inputs, outputs)
    arrivals: dict[int, dict[Bit, Arrival]] = {}
    for bit in order:
        if bit not in needed:
            continue
        near = {port: begin("") for port in inputs.get(bit, ())}
        for path in graph.ways.get(bit, ()):
            for port, arrival in arrivals.get(path.source, {}).items():
                more = advance(graph.leave(path.source, arrival), path)
                near[port] = worst_of(near[port], more) if port in near else more
        arrivals[bit] = near
    return {p: arrivals[bit] for bit, ps in outputs.items() if arrivals.get(bit) for p in ps}


def between(
    graph: Graph, order: list[int], inputs: Iterable[int], outputs: Iterable[int]
) -> set[int]:
    """Return the bits that lie on a way from an input to an output."""
    behind = set(inputs)
    for bit in order:
        if any(path.source in behind for path in graph.ways.get(bit, ())):
            behind.add(bit)
    before = set(outputs)
    for bit in reversed(order):
        if bit in before:
            before.update(path.source for path in graph.ways.get(bit, ()))
    return behind & before
