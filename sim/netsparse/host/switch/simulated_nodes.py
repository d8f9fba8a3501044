"""Stands in for a card with a NetSparse switch, and for the nodes at its ports."""

from collections.abc import Callable, Sequence
from typing import Any

from sim.host.simulated_ports import SimulatedPorts
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, from_bytes, to_bytes
from sim.netsparse.host.snic.peer import answers
from sim.netsparse.host.switch.build import Build

ANSWER_CYCLES = 600  #: after which whatever becomes of a packet has left, with delays as reset


class SimulatedNodes(SimulatedPorts):
    """Drives a simulated switch; its streams are ``reads_0``, ``responses_0`` and so on."""

    def __init__(self, dut: Any, build: Build) -> None:
        ports = range(build.fixed["ports"])
        names = [f"{kind}_{port}" for port in ports for kind in ("reads", "responses")]
        super().__init__(dut, names, ANSWER_CYCLES)
        self.mtu = build.fixed["mtu"]

    def ask(self, port: int, node: int, dest: int, idxs: Sequence[int], row_bytes: int) -> None:
        """Let ``node`` at a port ask ``dest`` for rows; the id of a read is its idx."""
        reads = [
            Request(kind=Kind.READ, dest=dest, length=row_bytes, src=node, idx=idx, id=idx)
            for idx in idxs
        ]
        self.send(f"reads_{port}", to_bytes(reads, node, Addresses()))

    def answer(self, port: int, node: int, row_of: Callable[[int], bytes]) -> int:
        """Let ``node`` answer what has come by its port; return how many rows that were."""
        count = 0
        while self.came[f"reads_{port}"]:
            packet = self.came[f"reads_{port}"].popleft()
            for response in answers(packet, node, self.mtu, row_of):
                count += len(from_bytes(response))
                self.send(f"responses_{port}", response)
        return count

    def rows(self, port: int) -> dict[int, bytes]:
        """Return the rows that have come by a port, by idx."""
        result = {}
        while self.came[f"responses_{port}"]:
            packet = self.came[f"responses_{port}"].popleft()
            result |= {response.idx: response.data for response in from_bytes(packet)}
        return result
