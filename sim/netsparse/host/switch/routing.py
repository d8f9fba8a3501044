"""Checks, before they are loaded, that the routes of all switches of a cluster fit each other."""

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise, permutations

#: an end of a link: a port of a switch, both by number
Port = tuple[int, int]
#: what is at the other end of the link of each port: a node, or a port of another switch
Ends = Mapping[Port, int | Port]
Routes = Sequence[Mapping[int, int]]  #: of each switch the port that leads to each node
#: of each switch the other routes of responses, by the port where they come in
ResponseRoutes = Sequence[Mapping[int, Mapping[int, int]]]


def uplinks_of(switch: int, ends: Ends) -> list[int]:
    """Return the ports of a switch that lead to other switches; with nodes, its uplinks."""
    return sorted(port for (k, port), end in ends.items() if k == switch and isinstance(end, tuple))


def check_routes(
    routes: Routes, ends: Ends, responses: ResponseRoutes = (), hits: Routes = ()
) -> None:
    """Raise ValueError unless reads reach every node, and responses return by the same links.

    A response has to pass the switches that its read has passed, by the same links: else its
    property is kept where nobody asks for it. Answers from caches have to reach every node, and no
    packets may wait for each other in a circle (:func:`check_waits`), as no switch drops any.
    ``routes``, ``responses`` and ``hits`` are what ``set_routes`` of each switch is given.
    """
    homes = {end: place for place, end in ends.items() if isinstance(end, int)}
    for place, end in ends.items():
        if isinstance(end, tuple) and ends.get(end) != place:
            raise ValueError(f"the link from {named(place)} leads to {named(end)}, but not back")
    ways = {
        (switch, node): way(switch, node, routes, ends)
        for switch in range(len(routes))
        for node in homes
    }
    returns = []
    for (a, (near, _)), (b, (far, port)) in permutations(homes.items(), 2):
        back = way(far, a, routes, ends, responses, port)
        returns.append(back)
        if ways[near, b][:-1] != [ends[place] for place in reversed(back[:-1])]:
            raise ValueError(
                f"reads from node {a} to node {b} leave by {listed(ways[near, b])}, but responses"
                f" by {listed(back)}: not the same links"
            )
    check_waits("reads", ways.values())
    readers = {  # where a cache can answer a read of a node
        (switch, a)
        for a, (near, _) in homes.items()
        for b in homes
        for switch, _ in ways[near, b][:-1]
    }
    for switch, node in readers:
        first = hits[switch].get(node) if hits else None
        returns.append(way(switch, node, routes, ends, responses, first=first))
    check_waits("responses", returns)


def check_waits(kind: str, ways: Iterable[Sequence[Port]]) -> None:
    """Raise ValueError if packets of a class can wait for each other in a circle, going these ways.

    A packet in the buffers behind a port waits for room behind the next port of its way. Where
    these waits close no circle, packets always move on (Dally and Seitz, 1987).
    """
    waits: dict[Port, set[Port]] = {}
    for passed in ways:
        for before, behind in pairwise(passed):
            waits.setdefault(before, set()).add(behind)
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        circle = listed(error.args[1])
        raise ValueError(f"{kind} can wait for each other in a circle: {circle}") from error


def way(
    switch: int,
    node: int,
    routes: Routes,
    ends: Ends,
    responses: ResponseRoutes = (),
    came_by: int | None = None,
    first: int | None = None,
) -> list[Port]:
    """Return the ports by which a packet for ``node`` leaves the switches, from ``switch`` on.

    It is a response if there are ``responses``, and came to the switch by port ``came_by``. It
    leaves the first switch by port ``first``, if that is given. ValueError if it does not get
    there.
    """
    passed: list[Port] = []
    while True:
        if any(switch == other for other, _ in passed):
            raise ValueError(f"packets for node {node} go round: {listed(passed)}")
        others = responses[switch].get(came_by, {}) if responses and came_by is not None else {}
        port = others.get(node, routes[switch].get(node))
        if first is not None and not passed:
            port = first
        if port is None:
            raise ValueError(f"switch {switch} has no route to node {node}")
        place = switch, port
        passed.append(place)
        end = ends.get(place)
        if isinstance(end, tuple):
            switch, came_by = end
        elif end == node:
            return passed
        else:
            far = "nothing" if end is None else f"node {end}"
            raise ValueError(f"{named(place)} leads to {far}, and is the route to node {node}")


def named(place: Port) -> str:
    """Return a port's name."""
    return f"port {place[1]} of switch {place[0]}"


def listed(places: Sequence[Port]) -> str:
    """Return the names of ports in a row."""
    return ", ".join(map(named, places))
