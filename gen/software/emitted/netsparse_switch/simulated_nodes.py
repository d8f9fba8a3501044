"""Stands in for a card with a NetSparse switch, and for the nodes at its ports."""

from collections.abc import Callable, Sequence
from typing import Any

from gen.software.emitted.netsparse.peer import answers
from gen.software.emitted.netsparse_switch.build import Build
from gen.software.emitted.simulated_ports import SimulatedPorts

READ = 1  #: kind of a packet
UNIT = 0  #: of a node, which asks
ANSWER_CYCLES = 600  #: after which whatever becomes of a packet has left, with delays as reset
ETHERNET_BYTES, UDP_OFFSET, HEADER_BYTES, PR_BYTES = 14, 34, 64, 18


class SimulatedNodes(SimulatedPorts):
    """Drives a simulated switch; its streams are ``reads_0``, ``responses_0`` and so on."""

    def __init__(self, dut: Any, build: Build) -> None:
        ports = range(build.fixed["ports"])
        names = [f"{kind}_{port}" for port in ports for kind in ("reads", "responses")]
        super().__init__(dut, names, ANSWER_CYCLES)
        self.mtu = build.fixed["mtu"]

    def ask(self, port: int, node: int, dest: int, idxs: Sequence[int], row_bytes: int) -> None:
        """Let ``node`` at a port ask ``dest`` for rows; the id of a read is its idx."""
        self.send(f"reads_{port}", reads(node, dest, idxs, row_bytes))

    def answer(self, port: int, node: int, row_of: Callable[[int], bytes]) -> int:
        """Let ``node`` answer what has come by its port; return how many rows that were."""
        count = 0
        while self.came[f"reads_{port}"]:
            packet = self.came[f"reads_{port}"].popleft()
            for response in answers(packet, node, self.mtu, row_of):
                count += int.from_bytes(response[60:64], "big")
                self.send(f"responses_{port}", response)
        return count

    def rows(self, port: int) -> dict[int, bytes]:
        """Return the rows that have come by a port, by idx."""
        found = {}
        while self.came[f"responses_{port}"]:
            packet = self.came[f"responses_{port}"].popleft()
            step = PR_BYTES + int.from_bytes(packet[56:60], "big")
            for at in range(HEADER_BYTES, len(packet), step):
                idx = int.from_bytes(packet[at + 6 : at + 14], "big")
                found[idx] = packet[at + PR_BYTES : at + step]
        return found


def reads(source: int, dest: int, idxs: Sequence[int], row_bytes: int) -> bytes:
    """Return a packet of reads; addresses and checksum are 0, as nobody looks at them."""
    size = HEADER_BYTES + PR_BYTES * len(idxs)
    header = bytearray(HEADER_BYTES)
    for first, last, value in (
        (12, 13, 0x800),
        (14, 14, 0x45),
        (16, 17, size - ETHERNET_BYTES),
        (23, 23, 17),  # UDP
        (34, 35, 0x4E53),
        (36, 37, 0x4E53),
        (38, 39, size - UDP_OFFSET),
        (50, 51, READ),
        (52, 55, dest),
        (56, 59, row_bytes),
        (60, 63, len(idxs)),
    ):
        header[first : last + 1] = value.to_bytes(last + 1 - first, "big")
    asks = (
        b"".join(
            value.to_bytes(n, "big") for value, n in ((source, 4), (UNIT, 2), (idx, 8), (idx, 4))
        )
        for idx in idxs
    )
    return bytes(header) + b"".join(asks)
