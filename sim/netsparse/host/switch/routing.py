"""Checks, before they are loaded, that the routes of all switches of a cluster fit each other."""

from collections.abc import Mapping, Sequence

#: an end of a link: a port of a switch, both by number
Port = tuple[int, int]
#: what is at the other end of the link of each port: a node, or a port of another switch
Ends = Mapping[Port, int | Port]
Routes = Sequence[Mapping[int, int]]  #: of each switch the port that leads to each node


def uplinks_of(switch: int, ends: Ends) -> list[int]:
    """Return the ports of a switch that lead to other switches; with nodes, its uplinks."""
    return sorted(port for (k, port), end in ends.items() if k == switch and isinstance(end, tuple))


def check_routes(routes: Routes, ends: Ends) -> None:
    """Raise ValueError unless every node is reached from everywhere, both ways by the same links.

    A response has to pass the switches that its read has passed, by the same links: else its
    property is kept where nobody asks for it.
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
    for a, (near, _) in homes.items():
        for b, (far, _) in homes.items():
            other_side, back = ways[near, b][:-1], ways[far, a][:-1]  # but for the link to the node
            if other_side != [ends[place] for place in reversed(back)]:
                raise ValueError(
                    f"packets from node {a} to node {b} leave by {listed(ways[near, b])}, but those"
                    f" back by {listed(ways[far, a])}: not the same links"
                )


def way(switch: int, node: int, routes: Routes, ends: Ends) -> list[Port]:
    """Return the ports by which a packet for ``node`` leaves the switches, from ``switch`` on.

    ValueError if it does not get there.
    """
    passed: list[Port] = []
    while True:
        if any(switch == other for other, _ in passed):
            raise ValueError(f"packets for node {node} go round: {listed(passed)}")
        if node not in routes[switch]:
            raise ValueError(f"switch {switch} has no route to node {node}")
        place = switch, routes[switch][node]
        passed.append(place)
        end = ends.get(place)
        if isinstance(end, tuple):
            switch = end[0]
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
