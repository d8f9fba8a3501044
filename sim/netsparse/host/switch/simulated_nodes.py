"""Stands in for a card with a NetSparse switch, and for the nodes at its ports."""

from collections.abc import Callable, Sequence
from typing import Any

from sim.host.simulated_ports import SimulatedPorts
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, from_bytes, to_bytes
from sim.netsparse.host.snic.peer import answers
from sim.netsparse.host.switch.build import Build
from sim.netsparse.host.switch.netsparse_switch import NetSparseSwitch

ANSWER_CYCLES = 600  #: after which whatever becomes of a packet has left, with delays as reset
ROW_BYTES = 8
FIRST, THEN = (130, 105, 144), (105, 199, 130)  #: idxs that node 0 asks node 1 for, in turn
SWITCH = 1_000_000  #: its number


class SimulatedNodes(SimulatedPorts):
    """Drives a simulated switch; its streams are ``reads_0``, ``responses_0`` and so on."""

    def __init__(self, dut: Any, build: Build) -> None:
        ports = range(build.fixed["ports"])
        names = [f"{kind}_{port}" for port in ports for kind in ("reads", "responses")]
        super().__init__(dut, names, ANSWER_CYCLES)


class Nodes:
    """Plays the nodes at the ports of ``device``.

    ``stream`` gives the name of the stream of a kind of packets at a port. The last beat of each
    packet is ``late`` by so many cycles, and ``pauses`` of the device follow it.
    """

    def __init__(
        self,
        device: Any,
        mtu: int,
        stream: Callable[[str, int], str] = "{}_{}".format,
        late: int = 0,
        pauses: int = 0,
    ) -> None:
        self.device, self.mtu, self.stream = device, mtu, stream
        self.late, self.pauses = late, pauses

    def send(self, kind: str, port: int, packet: bytes) -> None:
        """Send a packet, and wait for what becomes of it."""
        self.device.send(self.stream(kind, port), packet, late=self.late)
        for _ in range(self.pauses):
            self.device.pause()

    def ask(self, port: int, node: int, dest: int, idxs: Sequence[int], row_bytes: int) -> None:
        """Let ``node`` at a port ask ``dest`` for rows; the id of a read is its idx."""
        reads = [
            Request(kind=Kind.READ, dest=dest, length=row_bytes, src=node, idx=idx, id=idx)
            for idx in idxs
        ]
        self.send("reads", port, to_bytes(reads, node, Addresses()))

    def answer(self, port: int, node: int, row_of: Callable[[int], bytes]) -> int:
        """Let ``node`` answer what has come by its port; return how many rows that were."""
        count = 0
        while came := self.device.came[self.stream("reads", port)]:
            for response in answers(came.popleft(), node, self.mtu, row_of):
                count += len(from_bytes(response))
                self.send("responses", port, response)
        return count

    def rows(self, port: int) -> dict[int, bytes]:
        """Return the rows that have come by a port, by idx."""
        result = {}
        while came := self.device.came[self.stream("responses", port)]:
            result |= {response.idx: response.data for response in from_bytes(came.popleft())}
        return result

    def gather(self, idxs: Sequence[int]) -> int:
        """Let node 0 ask for rows and node 1 answer; return how many reads came to node 1."""
        self.ask(0, 0, 1, idxs, ROW_BYTES)
        requested = self.answer(1, 1, row_of)
        assert self.rows(0) == {idx: row_of(idx) for idx in idxs}
        return requested


def row_of(idx: int) -> bytes:
    """Return the row of an idx."""
    return idx.to_bytes(4, "little") + (2 * idx).to_bytes(4, "little")


def run_gathers(nodes: Nodes, switch: NetSparseSwitch) -> None:
    """Set a switch up as a program does on a card; let node 0 ask node 1, behind an uplink, twice.

    AssertionError unless the switch answers what it has seen, and reports a read without a route.
    """
    pipes = switch.build.fixed["pipes"]
    switch.set_routes({0: 0, 1: 1}, uplinks=[1])
    switch.set_addresses(SWITCH)
    switch.configure(ROW_BYTES if pipes else 0)
    switch.clear_counters()
    requested = [nodes.gather(idxs) for idxs in (FIRST, THEN)]
    hits = sum(counts["cache_hit"] for counts in switch.pipe_counters().values())
    known = len({*FIRST} & {*THEN}) if pipes else 0
    assert requested == [len(FIRST), len(THEN) - known]
    assert hits == known
    assert not switch.faults(), switch.faults()
    nodes.ask(0, 0, 2, FIRST, ROW_BYTES)  # there is no route to node 2
    assert [fault.name for fault in switch.faults()] == ["reads_no_route"]
    print(f"node 0 has all rows; the switch has answered {hits} of {len(FIRST) + len(THEN)} reads")
