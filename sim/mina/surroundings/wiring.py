"""Says where each port of each switch leads in a fat tree of switches in hardware."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from sim.mina.cluster import FatTree


@dataclass(frozen=True)
class Node:
    """Identifies a switch of layer ``layer`` (1: ToR) above all hosts of group ``group``.

    Switches above the same hosts are told apart by ``path``, an index for each layer of links on
    the way up to them.
    """

    layer: int
    group: int
    path: tuple[int, ...]


@dataclass(frozen=True)
class Wiring:
    """Numbers the switches of a cluster layer by layer, and their ports: down first, then up.

    The last port of each switch is the controller's. ValueError for hosts of several links.
    """

    cluster: FatTree

    def __post_init__(self) -> None:
        if self.cluster.up[0] != 1:
            raise ValueError(f"hosts must have 1 link up, not {self.cluster.up[0]}: {self.cluster}")

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Return all switches, by number."""
        down, up = self.cluster.down, self.cluster.up
        return tuple(
            Node(layer, group, path)
            for layer in range(1, self.cluster.layers + 1)
            for group in range(prod(down[layer:]))
            for path in product(*map(range, up[:layer]))
        )

    @cached_property
    def numbers(self) -> dict[Node, int]:
        """Return the number of each switch."""
        return {node: number for number, node in enumerate(self.nodes)}

    @property
    def ports(self) -> int:
        """Return how many ports a switch needs, the same in all layers."""
        ups = (*self.cluster.up[1:], 0)
        return max(map(sum, zip(self.cluster.down, ups, strict=True))) + 1

    @property
    def cables(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield all cables between switches: the lower one and its port, the upper one and its."""
        down, up = self.cluster.down, self.cluster.up
        for number, node in enumerate(self.nodes):
            if node.layer < self.cluster.layers:
                group, place = divmod(node.group, down[node.layer])
                for k in range(up[node.layer]):
                    above = Node(node.layer + 1, group, (*node.path, k))
                    yield number, down[node.layer - 1] + k, self.numbers[above], place

    def host_port(self, host: int) -> tuple[int, int]:
        """Return a host's ToR, and its port there."""
        rack, port = divmod(host, self.cluster.down[0])
        return self.numbers[Node(1, rack, (0,))], port

    def place(self, number: int) -> int:
        """Return which child of the switches above it a switch is; 0 if there are none."""
        node = self.nodes[number]
        top = node.layer == self.cluster.layers
        return 0 if top else node.group % self.cluster.down[node.layer]

    def addresses(self, number: int) -> tuple[bytes, bytes, bytes]:
        """Return the address of a switch, that of all below it, and that of all above it.

        All children of a switch share one address, so that one answer reaches several of them.
        """
        node, down = self.nodes[number], self.cluster.down
        blocks = [node.group]
        for width in (*down[node.layer :], 1, 1)[:2]:
            blocks.append(blocks[-1] // width)
        below, own, above = (
            bytes([2, 0, node.layer + k, *block.to_bytes(3, "big")])
            for k, block in enumerate(blocks)
        )
        return own, below, above

    def tree(self, hosts: Sequence[int], root: int) -> dict[int, tuple[int, int | None]]:
        """Return a tree's switches by number: the bitmap of its children's ports, the parent's.

        ``root`` counts the trees of these hosts, the index of the lowest layer first, as
        :func:`sim.mina.golden.trees.all_trees` does.
        """
        down, up = self.cluster.down, self.cluster.up
        result: dict[int, tuple[int, int | None]] = {}
        groups, path = set(hosts), ()
        while len(groups) > 1:
            layer = len(path) + 1
            root, k = divmod(root, up[layer - 1])
            path = (*path, k)
            for group in {below // down[layer - 1] for below in groups}:
                children = [below for below in groups if below // down[layer - 1] == group]
                ports = sum(1 << below % down[layer - 1] for below in children)
                result[self.numbers[Node(layer, group, path)]] = ports, None
            groups = {below // down[layer - 1] for below in groups}
            if len(groups) > 1:
                parent = down[layer - 1] + root % up[layer]
                for group in groups:
                    number = self.numbers[Node(layer, group, path)]
                    result[number] = result[number][0], parent
        return result
