"""Describes a HyperX: racks at the points of a grid, those that differ in one coordinate joined."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.topology import Direct, ResponseRoutes, Tables

AXES = "XYZ"


@dataclass(frozen=True, kw_only=True)
class HyperX(Direct):
    """Describes racks of a grid of ``sizes`` points, X first, with ``width`` links between two.

    A rack's number counts points along X first. Ports behind those of nodes lead along X, then Y,
    then Z, ``width`` to each other rack in ascending order of coordinates.

    A read corrects its coordinates in the order X, Y, Z, and a response in the order Z, Y, X, so it
    returns by the links of its read. Of links between two racks it is number h % width, h being the
    node that owns the idx; a hit in a cache on the way takes number n % width to node n. No link
    waits for one of an earlier dimension, so there is no deadlock within a class (Ahn et al.,
    HyperX, 2009; Dally and Seitz, 1987). Responses wait for no reads.
    """

    sizes: tuple[int, ...] = (2, 2)
    width: int = 1

    def __post_init__(self) -> None:
        if not 1 <= len(self.sizes) <= len(AXES) or min(self.sizes) < 2:
            raise ValueError(f"a HyperX has 1 to 3 sizes of 2 and more: {self.suffix}")
        if self.width < 1:
            raise ValueError(f"width must be at least 1: {self.width}")
        self.check_nodes()

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: sizes, nodes of a rack and width."""
        return f"hyperx_{'x'.join(map(str, self.sizes))}_{self.nodes_per_rack}_{self.width}"

    @property
    def racks(self) -> int:
        """Return the number of racks, of which each has a switch."""
        return prod(self.sizes)

    @property
    def distance(self) -> int:
        """Return the most links between two nodes."""
        return 2 + len(self.sizes)

    def ports(self, switch: int) -> int:
        """Return the number of ports of a switch."""
        return self.nodes_per_rack + self.width * sum(size - 1 for size in self.sizes)

    def name(self, switch: int) -> str:
        """Return the name of a switch in words: its coordinates."""
        return ",".join(map(str, self.points[switch]))

    @cached_property
    def points(self) -> Sequence[tuple[int, ...]]:
        """Return the coordinates of each switch."""
        return [point[::-1] for point in product(*map(range, reversed(self.sizes)))]

    @cached_property
    def far_ends(self) -> Sequence[Sequence[tuple[int, int]]]:
        """Return for each uplink of each switch where it leads, and its number between the two."""
        strides = [prod(self.sizes[:axis]) for axis in range(len(self.sizes))]

        def of(switch: int) -> Iterator[tuple[int, int]]:
            for axis, own in enumerate(self.points[switch]):
                for other in range(self.sizes[axis]):
                    if other != own:
                        far = switch + (other - own) * strides[axis]
                        yield from ((far, number) for number in range(self.width))

        return [tuple(of(switch)) for switch in range(self.switches)]

    def step(self, switch: int, rack: int, *, last: bool) -> int:
        """Return the switch that is next on the way to ``rack``: its first or last axis is done."""
        axes = zip(self.points[switch], self.points[rack], strict=True)
        axis = [k for k, (own, other) in enumerate(axes) if own != other][-int(last)]
        stride = prod(self.sizes[:axis])
        return switch + (self.points[rack][axis] - self.points[switch][axis]) * stride

    def port_for(self, switch: int, node: int, number: int, *, last: bool) -> int:
        """Return the port on the way to a node, by links of that number between racks."""
        rack, place = divmod(node, self.nodes_per_rack)
        if rack == switch:
            return place
        return self.port_to[switch, self.step(switch, rack, last=last), number]

    def tables(self, choice: SpineChoice = SpineChoice.HOME) -> Tables:
        """Return the port of every switch to every node, for reads."""
        return np.array(
            [
                [
                    self.port_for(switch, node, node % self.width, last=False)
                    for node in range(self.nodes)
                ]
                for switch in range(self.switches)
            ],
            np.int64,
        )

    def response_routes(self, choice: SpineChoice = SpineChoice.HOME) -> list[ResponseRoutes]:
        """Return each switch's routes of responses to other racks, by the port where they come in.

        One from a node of the rack takes the links of this node's number, and one from elsewhere
        keeps its number.
        """
        return [
            {
                port: self.returns(
                    switch,
                    (switch * self.nodes_per_rack + port) % self.width
                    if port < self.nodes_per_rack
                    else self.far_ends[switch][port - self.nodes_per_rack][1],
                )
                for port in range(self.ports(switch))
            }
            for switch in range(self.switches)
        ]

    def returns(self, switch: int, number: int | None = None) -> dict[int, int]:
        """Return the port to each node of other racks for responses, by links of a number.

        Without a number it is the node's.
        """
        return {
            node: self.port_for(
                switch, node, node % self.width if number is None else number, last=True
            )
            for node in range(self.nodes)
            if self.rack(node) != switch
        }

    def hit_routes(self) -> list[dict[int, int]]:
        """Return each switch's routes of responses from its cache to other racks."""
        return [self.returns(switch) for switch in range(self.switches)]
