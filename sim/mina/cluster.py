"""Describes the fat tree that the hosts stand in."""

import re
from dataclasses import dataclass
from math import prod

MAX_HOSTS = 1 << 16


@dataclass(frozen=True)
class FatTree:
    """Describes layers from the hosts up, with ``down[i]`` and ``up[i]`` links between i and i + 1.

    A node of layer i + 1 has ``down[i]`` links to layer i, a node of layer i has ``up[i]`` links to
    layer i + 1. The default has 1,024 hosts, 128 ToR, 128 pod and 64 core switches.
    """

    down: tuple[int, ...] = (8, 8, 16)
    up: tuple[int, ...] = (1, 8, 8)

    def __post_init__(self) -> None:
        if not self.down or len(self.down) != len(self.up):
            raise ValueError(
                f"topology must have as many numbers of links up as down, which make a tree: {self}"
            )
        if min(*self.down, *self.up) < 1:
            raise ValueError(f"topology must have at least 1 link from each node: {self}")
        if self.hosts > MAX_HOSTS or self.switches > MAX_HOSTS:
            raise ValueError(f"topology must have at most {MAX_HOSTS} hosts and switches: {self}")

    def __str__(self) -> str:
        return ":".join(",".join(map(str, links)) for links in (self.down, self.up))

    @property
    def hosts(self) -> int:
        """Return the number of hosts."""
        return prod(self.down)

    @property
    def layers(self) -> int:
        """Return the number of layers of switches."""
        return len(self.down)

    @property
    def switches(self) -> int:
        """Return the number of switches of all layers."""
        return sum(map(self.switches_of, range(1, self.layers + 1)))

    def switches_of(self, layer: int) -> int:
        """Return the number of switches of a layer, of which 1 is the ToR's."""
        return prod(self.up[:layer]) * prod(self.down[layer:])

    def name_of(self, layer: int) -> str:
        """Return what switches of a layer are called."""
        names = {1: "ToR", self.layers: "core"}
        return names.get(layer, "pod" if layer == 2 else f"layer {layer}")


#: The paper's figure 10, of which its text says four hosts and five switches: two ToRs of two hosts
#: and three roots, the one fat tree of hosts with a link that lets a tree of all four move.
TESTBED = FatTree((2, 2), (1, 3))


def parse_topology(text: str) -> FatTree:
    """Read a fat tree from ``8,8,16:1,8,8``, links down of each layer, then up, or by its name."""
    if text == "testbed":
        return TESTBED
    if not re.fullmatch(r"\d+(,\d+)*:\d+(,\d+)*", text):
        raise ValueError(
            f"topology must be DOWN,...:UP,..., such as {FatTree()}, or testbed: {text!r}"
        )
    down, up = (tuple(map(int, part.split(","))) for part in text.split(":"))
    return FatTree(down, up)
