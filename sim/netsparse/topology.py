"""Describes a leaf-spine cluster: what its links connect, and its switches' routing tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sim.netsparse.spine_choice import SpineChoice

Tables = NDArray[np.int64]  #: port of each switch to each node
#: of a switch: port to each node, by the port where a response comes in
ResponseRoutes = dict[int, dict[int, int]]


@dataclass(frozen=True)
class End:
    """Identifies one end of a link: a node, or a port of a switch."""

    index: int  #: number of the node or switch
    port: int | None = None  #: None: it is a node's


@dataclass(frozen=True)
class Wire:
    """Describes a link, in one direction."""

    source: End
    target: End


@dataclass(frozen=True, kw_only=True)
class Members:
    """Names what of a cluster one simulation has: all, or one node or switch."""

    nodes: Sequence[int]
    switches: Sequence[int]
    links: Sequence[int]  #: those of which it has an end, in the order of its ports

    @property
    def name(self) -> str:
        """Return the name of a node or switch."""
        return f"node_{self.nodes[0]}" if self.nodes else f"switch_{self.switches[0]}"


@dataclass(frozen=True, kw_only=True)
class LeafSpine:
    """Describes racks of nodes, each with a top-of-rack switch (ToR), and spines between them.

    Node n is in rack ``n // nodes_per_rack``, at its ToR's port ``n % nodes_per_rack``; uplink u
    of a ToR is port ``nodes_per_rack + u`` and leads to spine u, whose port r leads to rack r.
    Switches are numbered ToRs first, then spines. One rack has no spine.
    """

    racks: int = 1
    nodes_per_rack: int = 2
    spines: int = 0

    def __post_init__(self) -> None:
        if self.racks < 1 or self.nodes_per_rack < 1:
            raise ValueError(
                f"racks and nodes of each must be at least 1: {self.racks} x {self.nodes_per_rack}"
            )
        if self.nodes < 2:
            raise ValueError("a cluster has at least 2 nodes")
        if (self.spines > 0) != (self.racks > 1) or self.spines < 0:
            raise ValueError(
                f"spines must be 0 with one rack, else at least 1: {self.spines} with"
                f" {self.racks} racks"
            )

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: racks, nodes and spines."""
        return f"{self.racks}x{self.nodes_per_rack}_{self.spines}"

    @property
    def nodes(self) -> int:
        """Return the number of nodes of all racks."""
        return self.racks * self.nodes_per_rack

    @property
    def switches(self) -> int:
        """Return the number of ToRs and spines."""
        return self.racks + self.spines

    @property
    def tor_ports(self) -> int:
        """Return the number of ports of a ToR."""
        return self.nodes_per_rack + self.spines

    @property
    def spine_ports(self) -> int:
        """Return the number of ports of a spine."""
        return self.racks

    def is_tor(self, switch: int) -> bool:
        """Return whether ``switch`` is a top-of-rack switch."""
        return switch < self.racks

    def ports(self, switch: int) -> int:
        """Return the number of ports of a switch."""
        return self.tor_ports if self.is_tor(switch) else self.spine_ports

    def uplinks(self, switch: int) -> Sequence[int]:
        """Return a switch's ports that lead to spines."""
        first = self.nodes_per_rack
        return range(first, first + self.spines) if self.is_tor(switch) else ()

    def name(self, switch: int) -> str:
        """Return the name of a switch in words."""
        return f"ToR {switch}" if self.is_tor(switch) else f"spine {switch - self.racks}"

    def rack(self, node: int) -> int:
        """Return the rack that a node is in."""
        return node // self.nodes_per_rack

    def neighbour(self, switch: int, port: int) -> End:
        """Return what a port of a switch leads to."""
        if not self.is_tor(switch):
            return End(port, self.nodes_per_rack + switch - self.racks)
        if port < self.nodes_per_rack:
            return End(switch * self.nodes_per_rack + port)
        return End(self.racks + port - self.nodes_per_rack, switch)

    @cached_property
    def links(self) -> Sequence[Wire]:
        """Return all links, upwards and then downwards at each port of each ToR.

        Links 2k and 2k + 1 are a pair.
        """
        pairs = (
            (self.neighbour(tor, port), End(tor, port))
            for tor in range(self.racks)
            for port in range(self.tor_ports)
        )
        result = []
        for far, tor in pairs:
            ends = (far, tor) if far.port is None else (tor, far)
            result += [Wire(*ends), Wire(*reversed(ends))]
        return tuple(result)

    def link_of(self, node: int) -> int:
        """Return the link from a node to its ToR; the next one leads back."""
        rack, place = divmod(node, self.nodes_per_rack)
        return 2 * (rack * self.tor_ports + place)

    def link_name(self, link: int) -> str:
        """Return a link's two ends in words."""

        def words(end: End) -> str:
            return f"node {end.index}" if end.port is None else self.name(end.index)

        wire = self.links[link]
        return f"{words(wire.source)} -> {words(wire.target)}"

    @property
    def distance(self) -> int:
        """Return the most links between two nodes."""
        return 2 if self.racks == 1 else 4

    @property
    def everything(self) -> Members:
        """Return all members in one."""
        links = range(len(self.links))
        return Members(nodes=range(self.nodes), switches=range(self.switches), links=links)

    @property
    def parts(self) -> Sequence[Members]:
        """Return each node and then each switch by itself, which sends on its first link of two."""
        sends = {wire.source: number for number, wire in enumerate(self.links)}

        def links(ends: Sequence[End]) -> list[int]:
            return [number for end in ends for number in (sends[end], sends[end] ^ 1)]

        return [
            *(
                Members(nodes=[node], switches=[], links=links([End(node)]))
                for node in range(self.nodes)
            ),
            *(
                Members(
                    nodes=[],
                    switches=[switch],
                    links=links([End(switch, port) for port in range(self.ports(switch))]),
                )
                for switch in range(self.switches)
            ),
        ]

    def place(self, end: End) -> tuple[int, int]:
        """Return the number of an end's part, and that of its pair of links there."""
        return (end.index, 0) if end.port is None else (self.nodes + end.index, end.port)

    @property
    def cuts(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Return the :meth:`place` of both ends of each pair of links."""
        return [(self.place(wire.source), self.place(wire.target)) for wire in self.links[::2]]

    @property
    def ends(self) -> dict[tuple[int, int], int | tuple[int, int]]:
        """Return what each port of each switch leads to: a node, or a port of another switch."""
        ends = {
            (switch, port): self.neighbour(switch, port)
            for switch in range(self.switches)
            for port in range(self.ports(switch))
        }
        return {
            place: end.index if end.port is None else (end.index, end.port)
            for place, end in ends.items()
        }

    def tables(self, choice: SpineChoice = SpineChoice.HOME) -> Tables:
        """Return the port of every switch to every node, for all but :meth:`response_routes`.

        A read goes by spine h % spines, where h is the node that owns its idx, or by spine
        (A + B) % spines between racks A and B.
        """
        nodes = np.arange(self.nodes)
        racks, places = np.divmod(nodes, self.nodes_per_rack)
        result = np.empty((self.switches, self.nodes), np.int64)
        for switch in range(self.switches):
            if self.is_tor(switch):
                chosen = nodes if choice is SpineChoice.HOME else racks + switch
                far = self.nodes_per_rack + chosen % max(1, self.spines)
                result[switch] = np.where(racks == switch, places, far)
            else:
                result[switch] = racks
        return result

    def response_routes(self, choice: SpineChoice = SpineChoice.HOME) -> list[ResponseRoutes]:
        """Return each switch's other routes of responses, by the port where they come in.

        A response leaves the rack of the node that sends it by that node's spine.
        """
        result: list[ResponseRoutes] = [{} for _ in range(self.switches)]
        for home in range(self.nodes) if choice is SpineChoice.HOME and self.spines else ():
            rack, place = divmod(home, self.nodes_per_rack)
            port = self.nodes_per_rack + home % self.spines
            others = (node for node in range(self.nodes) if self.rack(node) != rack)
            result[rack][place] = dict.fromkeys(others, port)
        return result
