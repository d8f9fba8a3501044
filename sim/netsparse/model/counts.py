"""Returns what a model has counted, under the names of the hardware's counters."""

from collections.abc import Mapping, Sequence
from typing import Any

from hdl.netsparse.rig.params import Cause
from hdl.netsparse.snic_counters import BUCKETS, CLASSES, SNIC_COUNTERS, UNIT_COUNTERS
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS
from sim.netsparse.gather import Gather
from sim.netsparse.gather_job import GatherResult, NodeResult
from sim.netsparse.host.snic.request import Completion
from sim.netsparse.model.library import Model
from sim.netsparse.model.shape import NEVER
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.netsparse.switch_counts import SwitchCounts

#: The fields of ``struct ClientCounts``, ``struct Traffic`` and ``struct CacheCounts``.
CLIENT = (
    *("consumed", "local", "coalesced", "filtered", "prs", "responses", "commands"),
    *("table_stall", "filter_stall", "transmit_stall", "idx_stall"),
)
TRAFFIC = (
    *("sent_packets", "sent_bytes", "sent_prs", *(f"sent_prs_{1 << k}" for k in range(BUCKETS))),
    *("stall", "received_packets", "received_bytes", "received_prs"),
)
CACHE = ("hit", "miss", "inserted", "replaced", "present")
BUSES = tuple(
    f"host_{path}_{what}" for path in ("read", "write") for what in ("requests", "properties")
)
WRITES, READS = 10, 5  #: accesses of registers for a request, without rings

Links = Sequence[Mapping[str, Mapping[str, int]]]


def none_of(bank: Any) -> dict[str, int]:
    """Return all counters of a bank at 0, which is the value of those that a model leaves out."""
    return {name: 0 for name, _ in bank.counters}


def counted(model: Model, what: str, index: int, names: Sequence[str]) -> dict[str, int]:
    """Return the counts of item ``index`` of kind ``what``, by name."""
    result = model.counts(what, index, len(names))
    return {name: int(count) for name, count in zip(names, result, strict=True)}


def result_of(model: Model, gather: Gather, params: ClusterParams, seconds: float) -> GatherResult:
    """Return all counters of all nodes, links and switches; the model took ``seconds``."""
    topology = params.network.topology
    links = [link_counts(model, link) for link in range(len(topology.links))]
    nodes = [node_result(model, n, gather, params) for n in range(topology.nodes)]
    return GatherResult(
        nodes=nodes,
        cycles=max(node.cycles for node in nodes),
        first_packet=model.first_packet if model.first_packet < NEVER else 0,
        seconds=seconds,
        topology=topology,
        links=links,
        switches=[switch_counts(model, k, params, links) for k in range(topology.switches)],
    )


def link_counts(model: Model, link: int) -> dict[str, dict[str, int]]:
    """Return a link's counts by class; the model loses nothing on it."""
    names = [f"{kind} {what}" for kind in CLASSES for what in ("packets", "bytes")]
    result = counted(model, "link", link, names)
    lost = {"dropped": 0, "corrupted": 0}
    return {
        kind: {what: result[f"{kind} {what}"] for what in ("packets", "bytes")} | lost
        for kind in CLASSES
    }


def node_result(model: Model, n: int, gather: Gather, params: ClusterParams) -> NodeResult:
    """Return the result of one node."""
    node = counted(model, "node", n, ("cycles", "doorbells", "looked", *BUSES))
    doorbells, looked = node.pop("doorbells"), node.pop("looked")
    return NodeResult(
        completions=[
            Completion(unit, request.tag, Cause.DONE.name)
            for unit, queue in enumerate(gather.requests(n))
            for request in queue
        ],
        units=[unit_counts(model, n, unit, gather, params) for unit in range(params.snic.units)],
        snic=none_of(SNIC_COUNTERS) | traffic_counts(model, n, params) | node,
        accesses=accesses(sum(map(len, gather.requests(n))), doorbells, looked),
        cycles=node["cycles"],
    )


def accesses(requests: int, doorbells: int, looked: int) -> dict[str, int]:
    """Return a driver's accesses to registers; with rings it writes one for each doorbell.

    Without, it looks ``looked`` times for a completion that has not come.
    """
    if doorbells:
        return {"writes": doorbells, "reads": 0}
    return {"writes": WRITES * requests, "reads": READS * requests + looked}


def unit_counts(
    model: Model, n: int, unit: int, gather: Gather, params: ClusterParams
) -> dict[str, int]:
    """Return the counters of one unit; clients come first, servers last."""
    counts, clients = none_of(UNIT_COUNTERS), len(gather.idxs[0])
    servers = gather.servers if isinstance(gather.servers, int) else gather.servers[0]
    server = unit - params.snic.units + servers
    if unit < clients:
        counts |= counted(model, "client", n * clients + unit, CLIENT)
    if server >= 0:
        counts["served"] = model.served(n * servers + server)
    return counts


def traffic_counts(model: Model, point: int, params: ClusterParams) -> dict[str, int]:
    """Return the counters of concatenators and deconcatenators of a SNIC or a middle pipe."""
    topology = params.network.topology
    points = topology.nodes + topology.racks * params.network.of(0).pipes
    return {
        f"{kind}_{name}": count
        for k, kind in enumerate(CLASSES)
        for name, count in counted(model, "traffic", k * points + point, TRAFFIC).items()
    }


def switch_counts(model: Model, switch: int, params: ClusterParams, links: Links) -> SwitchCounts:
    """Return a switch's counters; its ports send and take what their links deliver."""
    topology = params.network.topology
    pipes = params.network.of(0).pipes if topology.is_tor(switch) else 0
    ports = [none_of(PORT_COUNTERS) for _ in range(topology.ports(switch))]
    for number, wire in enumerate(topology.links):
        for end, path in ((wire.target, "in"), (wire.source, "out")):
            if end.port is not None and end.index == switch:
                for kind in CLASSES:
                    for what in ("packets", "bytes"):
                        ports[end.port][f"{kind}_{path}_{what}"] = links[number][kind][what]
    for port, counts in enumerate(ports):
        for k, kind in enumerate(CLASSES):
            counts[f"{kind}_waits"] = model.waits(switch, k, port) if pipes else 0
    first = topology.nodes + switch * pipes
    return SwitchCounts(
        ports=ports,
        pipes=[
            none_of(PIPE_COUNTERS)
            | traffic_counts(model, first + pipe, params)
            | {
                f"cache_{name}": count
                for name, count in counted(model, "cache", switch * pipes + pipe, CACHE).items()
            }
            for pipe in range(pipes)
        ],
    )
