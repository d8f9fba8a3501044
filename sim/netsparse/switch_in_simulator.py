"""Drives a NetSparse switch alone, and tells the session what its counters say."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import cocotb

from hdl.netsparse.protocol import Kind
from hdl.netsparse.switch.params import CLASSES, NetSparseSwitchParams
from sim.harness.host_program import HostProgram
from sim.harness.in_simulator import params_in_simulator, report, workload_in_simulator
from sim.harness.streams import cycle, start
from sim.netsparse.links import Receiver, Sender, drained
from sim.netsparse.switch_session import NetSparseSwitchWorkload
from sim.netsparse.switch_side import switch_side
from sim.netsparse.wire import Packet, Pr, max_prs, to_beats

QUIET = 1000  #: cycles after which nothing is inside any more
MAX_DELAY = 200  #: DelayCycles, so long that packets are full before
READS, RESPONSES = CLASSES


class Bench:
    """Drives a switch whose last port is an uplink, with a node at each of the others."""

    def __init__(self, dut: Any, params: NetSparseSwitchParams, property_bytes: int) -> None:
        self.dut, self.params, self.length = dut, params, property_bytes
        self.uplink = params.ports - 1
        self.nodes = min(params.nodes, params.ports)
        self.senders = {
            (name, port): Sender(dut, f"s_axis_{name}_{port}")
            for name in CLASSES
            for port in range(params.ports)
        }
        self.receivers = {
            (name, port): Receiver(dut, f"m_axis_{name}_{port}")
            for name in CLASSES
            for port in range(params.ports)
        }

    async def begin(self) -> None:
        """Write routes and settings; nothing waits for others to join it, at first."""
        await start(self.dut)
        self.host = HostProgram(self.dut, "s_axil", switch_side(self.params))
        await self.host.set_routes({node: node for node in range(self.nodes)}, [self.uplink])
        await self.host.use(concatenate=False)
        await self.host.configure(self.length)

    def packet(self, kind: Kind, src: int, dest: int, idxs: Sequence[int]) -> Packet:
        """Return a packet of PRs for ``idxs``."""
        payload = bytes(self.length if kind is Kind.RESPONSE else 0)
        prs = [Pr(src=src, tid=0, idx=idx, id=k, payload=payload) for k, idx in enumerate(idxs)]
        return Packet(kind=kind, dest=dest, length=self.length, prs=prs)

    def send(self, port: int, packet: Packet) -> None:
        """Queue a packet at a port."""
        name = READS if packet.kind is Kind.READ else RESPONSES
        self.senders[name, port].queue(to_beats(packet.to_bytes()))

    async def quiet(self) -> None:
        """Wait until everything has left."""
        await drained(self.dut, self.senders.values(), self.receivers.values(), QUIET)

    async def latency(self, port: int, packet: Packet, name: str, leaves: int) -> int:
        """Measure the cycles from a packet's last beat taken to the first one at ``leaves``."""
        comes = READS if packet.kind is Kind.READ else RESPONSES
        self.send(port, packet)
        await self.quiet()
        return self.receivers[name, leaves].packets[-1].begun - self.senders[comes, port].cycles[-1]

    async def throughput(self, send: Callable[[], None], **settings: int) -> tuple[int, list]:
        """Measure cycles from the first beat to the last packet out, and the pipes' counters."""
        await self.host.write(**settings)
        await self.host.write(clear_counters=1)
        begun = cycle()
        send()
        await self.quiet()
        pipes = [*(await self.host.pipe_counters()).values()]
        ends = [link.cycles[-1] for link in self.receivers.values() if link.cycles]
        return max(ends) - begun, pipes


@cocotb.test()
async def measure(dut: Any) -> None:
    """Measure latencies, then throughput of a pipe and of all ports."""
    params = params_in_simulator(NetSparseSwitchParams)
    requested = workload_in_simulator(NetSparseSwitchWorkload)
    bench = Bench(dut, params, requested.property_bytes)
    count, far = requested.packets, bench.uplink
    await bench.begin()
    known, unknown = bench.packet(Kind.READ, 0, far, [1]), bench.packet(Kind.READ, 0, far, [2])
    property_ = bench.packet(Kind.RESPONSE, far, 0, [1])
    result: dict[str, float] = {
        "response_latency_cycles": await bench.latency(far, property_, RESPONSES, 0),
        "hit_latency_cycles": await bench.latency(0, known, RESPONSES, 0),
        "read_latency_cycles": await bench.latency(0, unknown, READS, far),
    }
    most = {kind: max_prs(kind, bench.length, params.mtu) for kind in (Kind.READ, Kind.RESPONSE)}

    def stream(kind: Kind, port: int, dest: int, idx: int) -> Callable[[], None]:
        packet = bench.packet(kind, port, dest, [idx] * most[kind])

        def send() -> None:
            for _ in range(count):
                bench.send(port, packet)

        return send

    pipe = far % params.pipes
    longest = min(params.most_delay, MAX_DELAY)
    joined = {"concatenate": 1, "read_delay": longest, "response_delay": longest}
    cycles, pipes = await bench.throughput(stream(Kind.READ, 0, far, 2), **joined)
    result["read_prs_per_cycle"] = pipes[pipe]["reads_sent_prs"] / cycles
    cycles, pipes = await bench.throughput(stream(Kind.RESPONSE, far, 0, 1))
    result["response_prs_per_cycle"] = pipes[pipe]["responses_sent_prs"] / cycles
    result["response_bytes_per_cycle"] = pipes[pipe]["responses_sent_bytes"] / cycles
    cycles, pipes = await bench.throughput(stream(Kind.READ, 0, far, 1))
    result["hit_prs_per_cycle"] = pipes[pipe]["cache_hit"] / cycles

    def everywhere() -> None:
        for port in range(bench.nodes):
            others = [node for node in range(bench.nodes) if node != port]
            for _ in range(count):
                bench.send(port, bench.packet(Kind.READ, port, random.choice(others), [3]))

    cycles, _ = await bench.throughput(everywhere, concatenate=0)
    ports = await bench.host.port_counters()
    sent = sum(ports[port]["reads_out_packets"] for port in range(bench.nodes))
    result["packets_per_cycle"] = sent / cycles
    result["cycles"] = cycle()
    report(result)
