"""Describes a cluster: what its links connect, and its switches' routing tables."""

from abc import ABC, abstractmethod
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
class Topology(ABC):
    """Describes racks of nodes, each with a top-of-rack switch (ToR), and how racks are joined.

    Node n is in rack ``n // nodes_per_rack``, at its ToR's port ``n % nodes_per_rack``; the other
    ports of a ToR are its uplinks. Switches are numbered ToRs first.
    """

    nodes_per_rack: int = 2

    @property
    @abstractmethod
    def racks(self) -> int:
        """Return the number of racks, and so of ToRs."""

    @property
    @abstractmethod
    def switches(self) -> int:
        """Return the number of all switches."""

    @property
    @abstractmethod
    def suffix(self) -> str:
        """Return the end of the module's name."""

    @property
    @abstractmethod
    def distance(self) -> int:
        """Return the most links between two nodes."""

    @abstractmethod
    def ports(self, switch: int) -> int:
        """Return the number of ports of a switch."""

    @abstractmethod
    def name(self, switch: int) -> str:
        """Return the name of a switch in words."""

    @abstractmethod
    def neighbour(self, switch: int, port: int) -> End:
        """Return what a port of a switch leads to."""

    @abstractmethod
    def tables(self, choice: SpineChoice = SpineChoice.HOME) -> Tables:
        """Return the port of every switch to every node, for all but the other routes."""

    @abstractmethod
    def response_routes(self, choice: SpineChoice = SpineChoice.HOME) -> list[ResponseRoutes]:
        """Return each switch's other routes of responses, by the port where they come in."""

    def hit_routes(self) -> list[dict[int, int]]:
        """Return each switch's other routes of responses from its cache."""
        return [{} for _ in range(self.switches)]

    @property
    def nodes(self) -> int:
        """Return the number of nodes of all racks."""
        return self.racks * self.nodes_per_rack

    def check_nodes(self) -> None:
        """Raise ValueError unless there are nodes in each rack, and two in all."""
        if self.racks < 1 or self.nodes_per_rack < 1:
            raise ValueError(
                f"racks and nodes of each must be at least 1: {self.racks} x {self.nodes_per_rack}"
            )
        if self.nodes < 2:
            raise ValueError("a cluster has at least 2 nodes")

    def is_tor(self, switch: int) -> bool:
        """Return whether ``switch`` is a top-of-rack switch."""
        return switch < self.racks

    def rack(self, node: int) -> int:
        """Return the rack that a node is in."""
        return node // self.nodes_per_rack

    def uplinks(self, switch: int) -> Sequence[int]:
        """Return the ports of a ToR that lead to other switches."""
        return range(self.nodes_per_rack, self.ports(switch)) if self.is_tor(switch) else ()

    @cached_property
    def links(self) -> Sequence[Wire]:
        """Return all links, in pairs: upwards and then downwards at each port of each ToR.

        Links 2k and 2k + 1 are a pair. Between two ToRs, that of the lower number is below.
        """
        result = []
        for tor, port in ((k, port) for k in range(self.racks) for port in range(self.ports(k))):
            near, far = End(tor, port), self.neighbour(tor, port)
            if far.port is None:
                result += [Wire(far, near), Wire(near, far)]
            elif far.index > tor:
                result += [Wire(near, far), Wire(far, near)]
        return tuple(result)

    @cached_property
    def link_from(self) -> dict[End, int]:
        """Return the number of the link that begins at each end."""
        return {wire.source: number for number, wire in enumerate(self.links)}

    def link_of(self, node: int) -> int:
        """Return the link from a node to its ToR; the next one leads back."""
        return self.link_from[End(node)]

    def link_name(self, link: int) -> str:
        """Return a link's two ends in words."""

        def words(end: End) -> str:
            return f"node {end.index}" if end.port is None else self.name(end.index)

        wire = self.links[link]
        return f"{words(wire.source)} -> {words(wire.target)}"

    @property
    def everything(self) -> Members:
        """Return all members in one."""
        links = range(len(self.links))
        return Members(nodes=range(self.nodes), switches=range(self.switches), links=links)

    @property
    def parts(self) -> Sequence[Members]:
        """Return each node and then each switch by itself, which sends on its first link of two."""
        sends = self.link_from

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

    @cached_property
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


@dataclass(frozen=True, kw_only=True)
class Direct(Topology):
    """Describes racks whose switches are joined by links alone, without other switches."""

    @property
    def switches(self) -> int:
        """Return the number of switches."""
        return self.racks

    @cached_property
    @abstractmethod
    def far_ends(self) -> Sequence[Sequence[tuple[int, int]]]:
        """Return for each uplink of each switch the switch that it leads to, and its number.

        The number tells it from others between the same two racks, or groups of racks.
        """

    @cached_property
    def port_to(self) -> dict[tuple[int, int, int], int]:
        """Return the port by switch, switch that it leads to, and number of the link."""
        return {
            (switch, far, number): self.nodes_per_rack + k
            for switch, ends in enumerate(self.far_ends)
            for k, (far, number) in enumerate(ends)
        }

    def neighbour(self, switch: int, port: int) -> End:
        """Return what a port of a switch leads to."""
        if port < self.nodes_per_rack:
            return End(switch * self.nodes_per_rack + port)
        far, number = self.far_ends[switch][port - self.nodes_per_rack]
        return End(far, self.port_to[far, switch, number])
