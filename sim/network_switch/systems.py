"""Sets up each system on a switch for all of them, with a job of its own at all ports.

A larger ``scale`` makes each job longer.
"""

from collections.abc import Awaitable, Callable, Mapping
from random import Random

import numpy as np

from hdl.network_switch.engines import engines
from hdl.switch.forwarding.counters import COUNTERS
from hdl.switch.forwarding.ingress import CAUSES
from sim.allreduce.switch_side import switch_side as allreduce_side
from sim.golden.arithmetic import FRACTION_BITS
from sim.golden.reduction.allreduce import HIGHEST, LOWEST
from sim.golden.reduction.wide_worker import WideWorker
from sim.harness.host_program import HostProgram
from sim.harness.register_driver import RegisterDriver
from sim.netsparse.golden.concatenation import Kind, Request
from sim.netsparse.switch_side import switch_side as netsparse_side
from sim.network_switch.hosts import (
    NODES,
    TIMEOUT,
    TRAINING,
    GraphWorker,
    PropertyNodes,
    Reducer,
    Talker,
    Trainer,
)
from sim.network_switch.network import Network
from sim.p4sgd.golden.frame_worker import FrameWorker
from sim.p4sgd.golden.sgd import Parts, epoch
from sim.p4sgd.host.job import GROUP, SWITCH
from sim.p4sgd.switch_side import switch_side as p4sgd_side
from sim.switchgnn.golden.aggregation import aggregate, edges_between
from sim.switchgnn.graphs.families import simple
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.planning.preparation import prepare
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.workers import provided_workers
from sim.switchgnn.switch_program import GnnSwitchProgram
from sim.switchgnn.wire import GROUP as GRAPH_GROUP

Check = Callable[
    [], Awaitable[None]
]  #: compares what the hosts have with what is right; AssertionError
JOB, EPOCH, SLOTS = 0, 1, 4
WIDE_GROUP = bytes.fromhex("03000000ff03")  #: destination of answers of the wide AllReduce
NODE = 77  #: number of the switch itself
LENGTH = 32  #: bytes of a property


async def set_address(network: Network) -> None:
    """Set the address of the switch, which all systems share."""
    driver = RegisterDriver(network.dut, network.page("forwarding"), network.maps["forwarding"])
    await driver.write_wide(switch_address=int.from_bytes(SWITCH, "big"))


async def prefer(network: Network, name: str) -> None:
    """Let an engine's answers go before all others at every port."""
    driver = RegisterDriver(network.dut, network.page("forwarding"), network.maps["forwarding"])
    streams = [part.name for part in engines(network.params) for _ in part.streams]
    source = network.params.forwarding.classes + streams.index(name)
    for port in range(network.params.ports):
        await driver.write(chosen_port=port, chosen_source=source)
        await driver.write(level=1, weight=1)
        await driver.write(set_share=1)


async def trains(network: Network, rng: np.random.Generator, scale: int = 1) -> Check:
    """Let the hosts train a model of P4SGD, each its share of the features."""
    ports, samples, epochs = network.params.ports, 40, 2 * scale
    side = p4sgd_side(network.params.p4sgd)
    program = HostProgram(network.dut, network.page("p4sgd"), side)
    await program.set_addresses(SWITCH, GROUP)
    await program.start_job(JOB, ports=[*range(ports)], epoch=EPOCH, base=0, slots=SLOTS)
    features = 6 * ports
    codes = rng.integers(0, 1 << TRAINING.bits, (samples, features))
    labels = rng.integers(0, 2, samples) << FRACTION_BITS
    owner = np.arange(features) % ports
    hosts = []
    for k in range(ports):
        worker = FrameWorker(
            address=GROUP,
            switch=SWITCH,
            port=k,
            job=JOB,
            epoch=EPOCH,
            base=0,
            slots=SLOTS,
            partials=[],
        )
        hosts.append(Trainer(worker, codes[:, owner == k], labels, epochs))
        network.add(k, hosts[-1])

    async def check() -> None:
        weights, parts = np.zeros(features, np.int64), Parts(owner, owner)
        for _ in range(epochs):
            weights, _ = epoch(codes, labels, weights, TRAINING, parts)
        assert weights.any()
        for k, host in enumerate(hosts):
            assert host.weights.tolist() == weights[owner == k].tolist()

    return check


async def aggregates(network: Network, rng: np.random.Generator, scale: int = 1) -> Check:
    """Let the hosts add up features of a graph's vertices in SwitchGNN's engine."""
    params, ports, vertices = network.params.switchgnn, network.params.ports, 40
    width = 2 * params.lanes * scale
    ends = rng.integers(0, vertices, (2, 4 * vertices))
    adjacency = simple(ends[0], ends[1], vertices)
    partition = provided_workers(rng.integers(0, ports, vertices), vertices, ports)
    shape = SwitchShape(ports=ports, banks=params.banks, depth=8, lanes=params.lanes)
    tables = prepare(adjacency, partition, shape, [width]).tables
    features = rng.integers(-(1 << 15), 1 << 15, (vertices, width)).astype(np.int16)
    job = PlannedJob(tables, [features], depth=shape.depth, window=params.window)
    program = GnnSwitchProgram(network.dut, params, network.page("switchgnn"))
    await program.set_addresses(SWITCH, GRAPH_GROUP)
    await program.write(ack_every=2)
    await program.write(ack_delay=60)
    setup = job.setup()
    await program.start_job(JOB, setup=setup, epoch=EPOCH, base=0, list_base=0, descriptor_base=0)
    workers = [job.worker(k, JOB, EPOCH) for k in range(ports)]
    for k, worker in enumerate(workers):
        network.add(k, GraphWorker(worker, params.lanes, SWITCH, GRAPH_GROUP))

    async def check() -> None:
        expected = aggregate(edges_between(adjacency, partition.owner), features)
        assert np.array_equal(job.sums(workers)[0], expected)

    return check


async def gathers(network: Network, rng: np.random.Generator, scale: int = 1) -> Check:
    """Let the hosts read each other's properties; those beyond the first two are other racks."""
    params = network.params.netsparse
    ports = range(network.params.ports)
    uplinks = ports[2:] if params.pipes else ()
    nodes = {k: [k] for k in ports[:2]} | {
        k: [*range(k, params.nodes, len(ports) - 2)] for k in ports[2:]
    }
    program = HostProgram(network.dut, network.page("netsparse"), netsparse_side(params))
    await program.set_routes({node: k for k, own in nodes.items() for node in own}, uplinks)
    await program.set_addresses(NODE, mac_base=NODES.mac_base, ip_base=NODES.ip_base)
    await program.set_delays(60, 60)
    await program.configure(LENGTH if params.pipes else 0)
    number = 0
    for port, own in nodes.items():
        others = [node for node in range(params.nodes) if node not in own]
        requests = []
        for _ in range(60 * scale):
            number, dest = number + 1, int(rng.choice(others))
            requests.append(
                Request(
                    kind=Kind.READ,
                    dest=dest,
                    length=LENGTH,
                    src=int(rng.choice(own)),
                    tid=int(rng.integers(1 << 16)),
                    idx=dest + params.nodes * int(rng.integers(8)),
                    id=number,
                )
            )
        network.add(port, PropertyNodes(own, requests))

    async def check() -> None:
        """Check nothing: each property was compared when it came."""

    return check


async def reduces(
    network: Network, rng: np.random.Generator, scale: int = 1, length: int = 64
) -> Check:
    """Let the hosts add up vectors of many numbers, in parts, some of whose sums are clamped."""
    ports = range(network.params.ports)
    side = allreduce_side(network.params.allreduce)
    program = HostProgram(network.dut, network.page("allreduce"), side)
    await program.set_addresses(SWITCH, WIDE_GROUP)
    await program.start_job(JOB, ports=[*ports], epoch=EPOCH, base=0, slots=SLOTS)
    vectors = rng.integers(LOWEST // 2, HIGHEST // 2, (len(ports), 1500 * scale)).astype(np.int32)
    workers = [
        WideWorker(
            port=k,
            address=SWITCH,
            group=WIDE_GROUP,
            job=JOB,
            epoch=EPOCH,
            slots=SLOTS,
            length=length,
            timeout=TIMEOUT,
        )
        for k in ports
    ]
    for k, worker in enumerate(workers):
        network.add(k, Reducer(worker, vectors[k]))

    async def check() -> None:
        sums = np.clip(vectors.sum(axis=0, dtype=np.int64), LOWEST, HIGHEST)
        for worker in workers:
            assert np.array_equal(worker.result, sums)

    return check


async def talks(network: Network, rng: np.random.Generator, scale: int = 1) -> Check:
    """Let the hosts send each other ordinary packets: each comes once, or is counted as dropped."""
    ports = range(network.params.ports)
    random = Random(int(rng.integers(1 << 32)))
    talkers = [Talker(k, [o for o in ports if o != k], 100 * scale, random) for k in ports]
    for k, talker in enumerate(talkers):
        network.add(k, talker)

    async def check() -> None:
        await network.settle()
        driver = RegisterDriver(network.dut, network.page("forwarding"), network.maps["forwarding"])
        dropped = 0
        for k in ports:
            await driver.write(counter_part=k)
            counts = await driver.counted("port", COUNTERS, names=DROPS, wait=2)
            dropped += sum(counts.values())
        entered = sum(network.entered[k, Talker.system] for k in ports)
        ended = sum(len(talker.received) + talker.missed for talker in talkers)
        assert entered == ended + dropped

    return check


#: counters of packets that were not forwarded
DROPS = tuple(f"in_{cause}" for cause in (*CAUSES, "no_room"))
#: what sets up each system, by its name
SET_UP: Mapping[str, Callable[..., Awaitable[Check]]] = {
    "forwarding": talks,
    "p4sgd": trains,
    "allreduce": reduces,
    "switchgnn": aggregates,
    "netsparse": gathers,
}
