"""Describes a Dragonfly: groups of racks, each joined to all of its group, and groups to groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.topology import Direct, ResponseRoutes, Tables


@dataclass(frozen=True, kw_only=True)
class Dragonfly(Direct):
    """Describes ``groups`` of ``group`` racks each, with ``links`` between two groups.

    Link l between two groups is at rack l % group of both. Ports behind those of nodes lead to the
    other racks of the group, in their order, then to other groups, in the order of groups and
    links. (Kim et al., Technology-driven, highly-scalable Dragonfly topology, 2008.)

    Routes are minimal. A packet between groups takes link h % links, h being the node that owns the
    idx, and a response so returns by the links of its read; a hit in a cache beyond that link takes
    the first one of its rack. A packet takes a link within a group behind one between groups and
    another before it, which a deadlock can close: hardware needs a further class there.
    """

    groups: int = 2
    group: int = 2
    links_between: int = 2

    def __post_init__(self) -> None:
        if self.groups < 2 or self.group < 1:
            raise ValueError(f"a Dragonfly has 2 groups of a rack and more: {self.suffix}")
        if self.links_between < 1 or self.links_between % self.group:
            raise ValueError(
                f"links between groups must be as many at each of the {self.group} racks:"
                f" {self.links_between}"
            )
        if self.nodes_per_rack > self.group:
            raise ValueError(
                f"a rack must have at most {self.group} nodes, as many as its group has racks, so"
                f" that each takes another way out: {self.nodes_per_rack}"
            )
        self.check_nodes()

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: groups, racks, nodes of a rack and links."""
        return f"dragonfly_{self.groups}x{self.group}_{self.nodes_per_rack}_{self.links_between}"

    @property
    def racks(self) -> int:
        """Return the number of racks, of which each has a switch."""
        return self.groups * self.group

    @property
    def distance(self) -> int:
        """Return the most links between two nodes."""
        return 5

    @property
    def at_a_rack(self) -> int:
        """Return the number of links from a rack to each other group."""
        return self.links_between // self.group

    def ports(self, switch: int) -> int:
        """Return the number of ports of a switch."""
        return self.nodes_per_rack + self.group - 1 + (self.groups - 1) * self.at_a_rack

    def name(self, switch: int) -> str:
        """Return the name of a switch in words: its group, and its number there."""
        return "{},{}".format(*divmod(switch, self.group))

    @cached_property
    def far_ends(self) -> Sequence[Sequence[tuple[int, int]]]:
        """Return for each uplink of each switch where it leads, and the number of the link."""
        result = []
        for switch in range(self.switches):
            group, own = divmod(switch, self.group)
            near = [(group * self.group + k, 0) for k in range(self.group) if k != own]
            far = [
                (other * self.group + own, own + k * self.group)
                for other in range(self.groups)
                if other != group
                for k in range(self.at_a_rack)
            ]
            result.append([*near, *far])
        return result

    def port_for(self, switch: int, node: int, link: int) -> int:
        """Return the port on the way to a node, by that link to its group."""
        rack, place = divmod(node, self.nodes_per_rack)
        group, to = switch // self.group, rack // self.group
        if rack == switch:
            return place
        if group == to:
            return self.port_to[switch, rack, 0]
        out = group * self.group + link % self.group  # the rack with the link
        if out == switch:
            return self.port_to[switch, to * self.group + link % self.group, link]
        return self.port_to[switch, out, 0]

    def tables(self, choice: SpineChoice = SpineChoice.HOME) -> Tables:
        """Return the port of every switch to every node, for reads."""
        nodes = range(self.nodes)
        return np.array(
            [
                [self.port_for(switch, node, node % self.links_between) for node in nodes]
                for switch in range(self.switches)
            ],
            np.int64,
        )

    def response_routes(self, choice: SpineChoice = SpineChoice.HOME) -> list[ResponseRoutes]:
        """Return each switch's routes of responses to other groups, by the port they come in by.

        Nodes of a rack take links of different racks, so that a port tells the link.
        """
        result: list[ResponseRoutes] = [{} for _ in range(self.switches)]
        for home in range(self.nodes):
            rack, place = divmod(home, self.nodes_per_rack)
            group, link = rack // self.group, home % self.links_between
            out = group * self.group + link % self.group
            others = [n for n in range(self.nodes) if self.rack(n) // self.group != group]
            result[rack][place] = {node: self.port_for(rack, node, link) for node in others}
            if out != rack:
                came = self.port_to[out, rack, 0]
                result[out][came] = {node: self.port_for(out, node, link) for node in others}
        return result

    def hit_routes(self) -> list[dict[int, int]]:
        """Return each switch's routes of responses from its cache to other groups."""
        return [
            {
                node: self.port_for(switch, node, switch % self.group)
                for node in range(self.nodes)
                if self.rack(node) // self.group != switch // self.group
            }
            for switch in range(self.switches)
        ]
