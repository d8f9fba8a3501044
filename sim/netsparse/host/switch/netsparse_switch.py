"""Drives a NetSparse switch: its routes, its caches, its counters, and what is wrong."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from sim.host.device import Registers, check_design, chosen, wait_until, write_wide
from sim.netsparse.host.switch.build import Build

SECONDS = 10.0  #: the longest wait for the hardware unless told otherwise
#: classes of packets to which a route applies
EVERY = {"route_reads": 1, "route_responses": 1, "route_hits": 1}
RESPONSES = {"route_reads": 0, "route_responses": 1, "route_hits": 0}
HITS = {"route_reads": 0, "route_responses": 0, "route_hits": 1}
MAC_BASE, IP_BASE = 0x0200_0000_0000, 0x0A00_0000  #: of node 0, unless told otherwise


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Tells of packets that were lost or cut, of reads that passed the cache, or of a dead link."""

    where: str  #: ``port`` or ``pipe``
    number: int
    name: str  #: of the counter, or ``stalled``
    count: int  #: since counters were cleared; 1 of a link that is stalled
    meaning: str  #: what is counted

    def __str__(self) -> str:
        """Return the fault in a line."""
        return f"{self.where} {self.number}: {self.name} {self.count}: {self.meaning}"


class NetSparseSwitch:
    """Drives one switch on ``device``.

    ``registers`` is an object of the generated driver's class on the same device. ``seconds`` is
    the longest that emptying the caches may take. Raises :class:`DeviceError` if the device holds
    another design than ``build``.
    """

    def __init__(self, device: Registers, registers: Any, build: Build) -> None:
        self.device, self.registers, self.build = device, registers, build
        self.seconds = SECONDS
        check_design(registers, build.fixed)

    def set_routes(
        self,
        routes: Mapping[int, int],
        uplinks: Collection[int],
        responses: Mapping[int, Mapping[int, int]] | None = None,
        hits: Mapping[int, int] | None = None,
    ) -> None:
        """Let ``routes`` say which port leads to each node; all others have no route.

        ``uplinks`` are the ports that lead to other racks. ``responses`` has the routes of
        responses that differ, by the port where they come in; ``hits`` has those of responses from
        the caches that differ.
        The network is quiet meanwhile. ValueError, before anything is written, for a node, a port
        or an uplink that is not there. Whether routes of several switches fit each other,
        ``check_routes`` tells.
        """
        ports, nodes = self.build.fixed["ports"], self.build.fixed["nodes"]
        responses, hits = responses or {}, hits or {}
        others = (own.items() for own in (hits, *responses.values()))
        for node, port in chain(routes.items(), *others):
            if not 0 <= node < nodes:
                raise ValueError(f"routes must be to nodes 0 to {nodes - 1}: {node}")
            if not 0 <= port < ports:
                raise ValueError(f"node {node} must be behind a port 0 to {ports - 1}: {port}")
        for name, some in (("uplinks", uplinks), ("ports of responses", responses)):
            if any(not 0 <= port < ports for port in some):
                raise ValueError(f"{name} must be some of 0 to {ports - 1}: {sorted(some)}")
        self._enter({node: routes.get(node) for node in range(nodes)}, (1 << ports) - 1, EVERY)
        inputs: dict[tuple[tuple[int, int], ...], int] = {}  # ports with the same routes
        for port, own in responses.items():
            key = tuple(sorted(own.items()))
            inputs[key] = inputs.get(key, 0) | 1 << port
        for own, mask in inputs.items():
            self._enter(dict(own), mask, RESPONSES)
        self._enter(hits, (1 << ports) - 1, HITS)
        self.registers.write(uplinks=sum(1 << port for port in set(uplinks)))

    def _enter(
        self, routes: Mapping[int, int | None], inputs: int, classes: Mapping[str, int]
    ) -> None:
        """Enter routes of packets of some classes that come by ``inputs``."""
        self.registers.write(route_inputs=inputs, **classes)
        for port in set(routes.values()):
            self.registers.write(route_port=port or 0, route_known=int(port is not None))
            for node in (node for node, to in routes.items() if to == port):
                self.registers.write(route_node=node)
                self.registers.write(write_route=1)

    def set_addresses(
        self, number: int, *, mac_base: int = MAC_BASE, ip_base: int = IP_BASE
    ) -> None:
        """Set the number of this switch, which no node has, and the addresses of node 0."""
        if not self.build.fixed["nodes"] <= number < 1 << 32:
            raise ValueError(f"number must be above those of all nodes: {number}")
        self.registers.write(node=number, ip_base=ip_base)
        write_wide(self.registers, mac_base=mac_base)

    def use(self, *, cache: bool = True, concatenate: bool = True) -> None:
        """Switch the caches, and the joining of PRs, on or off; the network is quiet meanwhile."""
        self.registers.write(cache=int(cache), concatenate=int(concatenate))

    def set_delays(self, reads: int, responses: int) -> None:
        """Set for how many cycles a read, and a response, may wait for others."""
        for name, cycles in (("reads", reads), ("responses", responses)):
            if not 0 <= cycles <= self.build.most_delay:
                raise ValueError(f"{name} may wait 0 to {self.build.most_delay} cycles: {cycles}")
        self.registers.write(read_delay=reads, response_delay=responses)

    def set_stall_limit(self, cycles: int) -> None:
        """Set after how many cycles without a response a link is stalled; 0: never."""
        if not 0 <= cycles < 1 << 32:
            raise ValueError(f"cycles must be from 0 to {(1 << 32) - 1}: {cycles}")
        self.registers.write(stall_limit=cycles)

    def configure(self, property_bytes: int) -> None:
        """Empty the caches, which then hold properties of that size; 0: none.

        Needed before the first array, before each other one, and when owners have changed values.
        The network is quiet meanwhile. Returns when the caches are empty.
        """
        most = min(self.build.most_cached_bytes, self.build.fixed["most_property_bytes"])
        if property_bytes % 4 or not 0 <= property_bytes <= most:
            raise ValueError(
                f"property_bytes must be a multiple of 4 from 0 to {most}: {property_bytes}"
            )
        self.registers.write(property_bytes=property_bytes)
        self.invalidate()

    def invalidate(self) -> None:
        """Forget all properties; the caches keep their size. The network is quiet meanwhile."""
        self.registers.write(configure=1)
        wait_until(
            self.device, lambda: not self.registers.read("clearing"), "configure", self.seconds
        )

    def reset_packets(self) -> None:
        """Drop all packets that are inside, then let the caches begin empty, in their size."""
        self.registers.write(reset_packets=1)
        self.invalidate()

    def stalled(self) -> list[int]:
        """Return the ports whose link takes no responses."""
        bits = int(self.registers.read("stalled"))
        return [port for port in range(self.build.fixed["ports"]) if bits >> port & 1]

    def port_counters(self) -> dict[int, dict[str, int]]:
        """Return the counters of all ports, by port and by name."""
        return self._counters("port", self.build.port_counters)

    def pipe_counters(self) -> dict[int, dict[str, int]]:
        """Return the counters of all middle pipes, by pipe and by name."""
        return self._counters("pipe", self.build.pipe_counters)

    def clear_counters(self) -> None:
        """Set all counters to 0."""
        self.registers.write(clear_counters=1)

    def faults(self) -> list[Fault]:
        """Return what is wrong now, or has gone wrong since counters were cleared."""
        result = [
            Fault(
                where="port",
                number=port,
                name="stalled",
                count=1,
                meaning="its link takes no responses; reads of the nodes behind it pass the caches",
            )
            for port in self.stalled()
        ]
        for where, counts, texts in (
            ("port", self.port_counters(), self.build.port_counters),
            ("pipe", self.pipe_counters(), self.build.pipe_counters),
        ):
            result += [
                Fault(where=where, number=k, name=name, count=count, meaning=texts[name])
                for k, each in counts.items()
                for name, count in each.items()
                if count and name in self.build.faults
            ]
        return result

    def _counters(self, kind: str, names: Collection[str]) -> dict[int, dict[str, int]]:
        return {
            part: chosen(self.registers, names, kind, counter_part=part)
            for part in range(self.build.fixed[f"{kind}s"])
        }
