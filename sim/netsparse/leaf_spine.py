"""Describes a leaf-spine cluster."""

from dataclasses import dataclass

import numpy as np

from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.topology import End, ResponseRoutes, Tables, Topology


@dataclass(frozen=True, kw_only=True)
class LeafSpine(Topology):
    """Describes racks of nodes and spines between them.

    Uplink u of a ToR is port ``nodes_per_rack + u`` and leads to spine u, whose port r leads to
    rack r. Switches are numbered ToRs first, then spines. One rack has no spine.
    """

    racks: int = 1  # pyright: ignore[reportIncompatibleMethodOverride]
    spines: int = 0

    def __post_init__(self) -> None:
        self.check_nodes()
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

    @property
    def distance(self) -> int:
        """Return the most links between two nodes."""
        return 2 if self.racks == 1 else 4

    def ports(self, switch: int) -> int:
        """Return the number of ports of a switch."""
        return self.tor_ports if self.is_tor(switch) else self.spine_ports

    def name(self, switch: int) -> str:
        """Return the name of a switch in words."""
        return f"ToR {switch}" if self.is_tor(switch) else f"spine {switch - self.racks}"

    def neighbour(self, switch: int, port: int) -> End:
        """Return what a port of a switch leads to."""
        if not self.is_tor(switch):
            return End(port, self.nodes_per_rack + switch - self.racks)
        if port < self.nodes_per_rack:
            return End(switch * self.nodes_per_rack + port)
        return End(self.racks + port - self.nodes_per_rack, switch)

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
