"""Computes sizes and arrays of a modelled cluster from a gather and the hardware's parameters."""

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hdl.common.fifo import FifoParams
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.concat.concatenator_params import LINE_BYTES, SPARE_QUEUES, ConcatenatorParams
from hdl.netsparse.concat.expiration_queue import ExpirationQueue
from hdl.netsparse.idx_filter.params import LINE_BYTES as FILTER_LINE_BYTES
from hdl.netsparse.middle_pipe.cost import response_beats
from hdl.netsparse.property_cache.params import SEGMENT_BYTES
from hdl.netsparse.protocol import PR_BYTES
from hdl.netsparse.queue.descriptor_fetch import AHEAD
from hdl.netsparse.rig.idx_fetch import CHUNKS
from sim.netsparse.gather import Gather
from sim.netsparse.host.snic.request import Request
from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.netsparse.topology import End, Topology

NEVER = 1 << 60
NONE = -1
PORT_BEATS = 16  #: beats that a switch's port holds

#: Names of the fields of ``struct Shape``, in their order.
SHAPE_FIELDS = tuple(
    name.strip()
    for line in re.findall(
        r"^    Int ([^;]+);", Path(__file__).with_name("shape.h").read_text(), re.MULTILINE
    )
    for name in line.split(",")
)

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Needs:
    """Lists which properties each node needs, each once, and the idxs as indices into that list."""

    stream: NDArray[np.int32]  #: number of the need of each idx; NONE for a local one
    owner: NDArray[np.int32]  #: node that has the property, by need
    idx: Ints
    base: Ints  #: the first need of each node, and the number of all


def needs_of(gather: Gather) -> Needs:
    """Return the needs of all nodes; idxs are in the order of nodes, clients and requests."""
    partition = gather.partition
    streams, owners, idxs, base = [], [], [], [0]
    for node in range(partition.nodes):
        flat = gather.flat(node)
        remote = ~partition.is_local(flat, node)
        distinct, number = np.unique(flat[remote], return_inverse=True)
        numbers = np.full(flat.size, NONE, np.int32)
        numbers[remote] = number + base[-1]
        streams.append(numbers)
        owners.append(partition.owner(distinct))
        idxs.append(distinct)
        base.append(base[-1] + distinct.size)
    return Needs(
        stream=np.concatenate(streams),
        owner=np.concatenate(owners).astype(np.int32),
        idx=np.concatenate(idxs).astype(np.int64),
        base=np.array(base, np.int64),
    )


def shape_of(gather: Gather, params: ClusterParams) -> dict[str, int]:
    """Return the fields of ``struct Shape``."""
    topology = params.network.topology
    return (
        {
            "nodes": topology.nodes,
            "racks": topology.racks,
            "nodes_per_rack": topology.nodes_per_rack,
            "switches": topology.switches,
            "links": len(topology.links),
        }
        | unit_shape(gather, params)
        | memory_shape(gather, params)
        | network_shape(gather, params)
        | stall_shape(gather)
    )


def unit_shape(gather: Gather, params: ClusterParams) -> dict[str, int]:
    """Return the fields that describe a node's units."""
    rig = params.snic.rig
    return {
        "clients": len(gather.idxs[0]),
        "servers": gather.servers if isinstance(gather.servers, int) else gather.servers[0],
        "entries": rig.pending_entries,
        "lookup_slots": rig.lsq_entries - rig.lsq_reserved,
        "set_slots": rig.lsq_reserved,
        "chunk_bytes": rig.idx_buffer_bytes // CHUNKS,
        "idx_bytes": gather.idx_bytes,
        "commands": rig.commands,
        "solver": 2 * max(1, (rig.nodes - 1).bit_length()) + 1,
        "transmit": rig.transmit_prs + 2 * max(1, (rig.nodes - 1).bit_length()),
        "buffer_beats": rig.property_beats,
        "filter": gather.mechanisms.get("filter", 1),
        "coalesce": gather.mechanisms.get("coalesce", 1),
        "rings": 0 if gather.rings is None else 1 << gather.rings,
        "descriptors": AHEAD,
    }


def memory_shape(gather: Gather, params: ClusterParams) -> dict[str, int]:
    """Return the fields that describe properties, host memory and the idx filter."""
    snic, size = params.snic, gather.property_bytes
    return {
        "property_bytes": size,
        "property_beats": -(-size // BEAT_BYTES),
        "property_address": gather.property_address,
        "aligned": gather.mechanisms.get("aligned", 1),
        "read_latency": max(3, gather.host.get("read_latency", 0)),
        "write_latency": max(2, gather.host.get("write_latency", 0)),
        "dram_latency": max(3, gather.dram.get("read_latency", 0)),
        "host_requests": snic.host_requests,
        "banks": snic.filter_banks,
        "unit_rows": snic.filter.unit_rows,
        "filter_lines": -(-gather.partition.count // (8 * FILTER_LINE_BYTES)),
        "filter_sets": snic.filter.banks * snic.filter.sets,
        "filter_ways": snic.filter.ways,
    }


def network_shape(gather: Gather, params: ClusterParams) -> dict[str, int]:
    """Return the fields that describe packets, links and middle pipes."""
    tor, size = params.network.of(0), gather.property_bytes
    cache = tor.cache
    together = 1
    while together * SEGMENT_BYTES < size:
        together *= 2
    sizes = {
        "mtu": params.snic.mtu,
        "packet_beats": tor.packet_beats,
        "link_latency": gather.link.get("latency", 0),
        "ports": tor.ports,
        "pipes": tor.pipes,
        "pipe_beats": tor.receive_packets * tor.packet_beats,
        "output_beats": tor.output_beats,
        "response_cost": response_beats(size),
        "cache": int(bool(gather.switch.get("cache", 1)) and together <= cache.segments),
        "sets": cache.sets,
        "segments": cache.segments,
        "together": together,
        "ways": cache.ways,
        "cache_latency": cache.latency,
        "cache_room": tor.entries(1).depth,
    }
    rooms = {"read_packet": 0, "read_from": 0, "response_packet": 0, "response_from": 0}
    rooms["item_from"] = 0
    if tor.pipes:
        reads, responses = (tor.output_room(payload) for payload in (False, True))
        rooms = {
            "read_packet": reads.packet,
            "read_from": reads.packets_from,
            "response_packet": responses.packet,
            "response_from": responses.packets_from,
            "item_from": responses.items_from,
        }
    return sizes | rooms


def stall_shape(gather: Gather) -> dict[str, int]:
    """Return the chances, in 256, that a beat waits."""
    names = ("ar", "r", "aw", "w", "b")
    return {
        "in_stall": gather.link.get("in_stall", 0),
        "out_stall": gather.link.get("out_stall", 0),
        **{f"{name}_stall": gather.host.get(f"{name}_stall", 0) for name in names},
        "seed": gather.link.get("seed", 0),
    }


def requests_of(gather: Gather) -> tuple[Ints, Ints]:
    """Return a row for each request, by node and client, and the end of each client's rows."""
    queues: list[Sequence[Request]] = [
        queue for node in range(gather.partition.nodes) for queue in gather.requests(node)
    ]
    every = [request for queue in queues for request in queue]
    counts = np.array([request.count for request in every], np.int64)
    ends = np.cumsum(counts)
    addresses = np.array([request.idx_address for request in every], np.int64)
    rows = np.stack([ends - counts, ends, addresses], axis=1).reshape(-1, 3)
    return rows, np.cumsum([len(queue) for queue in queues])


def makers_of(gather: Gather, params: ClusterParams) -> Ints:
    """Return a row of sizes for each concatenator: reads of SNICs and pipes, then responses.

    Each row ends with the beats that the unpacker of the deconcatenator beside it holds.
    """
    topology, tor = params.network.topology, params.network.of(0)
    rows = []
    for payload, name in ((False, "read"), (True, "response")):
        own = maker_row(params.snic.concatenator(payload), gather, payload)
        places = params.snic.deconcatenator(payload).places
        rows += [[*own, *joining(gather.mechanisms, name, 500), places]] * topology.nodes
        if tor.pipes:
            reference = maker_row(tor.concatenator(payload), gather, payload)
            delay, joins = joining(gather.switch, name, 125)
            delay = delay if joins else tor.most_delay
            rows += [[*reference, delay, joins, places]] * (topology.racks * tor.pipes)
    sizes = np.array(rows, np.int64)
    pr_bytes, expirations, soonest, late, delay, joins, places = sizes[:, 5:].T
    return np.column_stack(
        [sizes[:, :5], delay, joins, pr_bytes, expirations + delay, soonest, late, places]
    )


def joining(settings, name: str, delay: int) -> list[int]:
    """Return DelayCycles, and whether PRs are joined at all."""
    return [int(settings.get(f"{name}_delay", delay)), int(settings.get("concatenate", 1))]


def maker_row(sizes: ConcatenatorParams, gather: Gather, payload: bool) -> list[int]:
    """Return the sizes of a concatenator in this order.

    They are lines, lines to spare, lines of a PR, packets, open packets, bytes of a PR, queues,
    the cycles from a packet's opening to its expiring at the earliest, and those that the list of
    free lines takes beyond the first.
    """
    pr_bytes = PR_BYTES + payload * gather.property_bytes
    return [
        sizes.lines,
        sizes.reserve if sizes.virtual else 0,
        -(-pr_bytes // LINE_BYTES),
        sizes.packets,
        sizes.destinations - SPARE_QUEUES if sizes.virtual else NEVER,
        pr_bytes,
        sizes.queues + 4,
        ExpirationQueue(sizes).lateness,
        FifoParams(shape=sizes.line_bits, depth=sizes.lines).latency - 1,
    ]


def link_rooms(params: ClusterParams) -> Ints:
    """Return how many beats each link and its far end can hold when a packet begins."""
    waits = params.snic.receive_packets * params.network.of(0).packet_beats
    return np.array(
        [
            2 * params.network.link_latency
            + 1
            + (waits if wire.target.port is None else PORT_BEATS)
            for wire in params.network.topology.links
        ],
        np.int64,
    )


def ports_of(topology: Topology) -> Ints:
    """Return a row for each port, in order: its switch, its link out and its link in."""
    out = {wire.source: number for number, wire in enumerate(topology.links)}
    into = {wire.target: number for number, wire in enumerate(topology.links)}
    ends = [
        End(switch, port)
        for switch in range(topology.switches)
        for port in range(topology.ports(switch))
    ]
    return np.array([[end.index, out[end], into[end]] for end in ends], np.int64)


def response_routes(topology: Topology, choice: SpineChoice) -> Ints:
    """Return the routes of responses that come by each port, in order, to each node."""
    tables, others = topology.tables(choice), topology.response_routes(choice)
    rows = []
    for switch in range(topology.switches):
        for port in range(topology.ports(switch)):
            rows.append(tables[switch].copy())
            for node, to in others[switch].get(port, {}).items():
                rows[-1][node] = to
    return np.stack(rows)


def hit_routes(topology: Topology, choice: SpineChoice) -> Ints:
    """Return the routes of responses from each switch's cache to each node."""
    result = topology.tables(choice)
    for switch, others in enumerate(topology.hit_routes()):
        result[switch, list(others)] = list(others.values())
    return result


class Struct(ctypes.Structure):
    """Mirrors the library's ``struct Arrays``."""

    _fields_ = [
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("shape", "stream", "owner", "idx", "need_base", "requests", "behind", "route"),
                *("hit_route", "response_route", "ports", "makers", "link_room", "uplink"),
            )
        ),
        ("port_count", ctypes.c_int64),
    ]


@dataclass(frozen=True)
class Arrays:
    """Holds the arrays that describe a cluster, in the order of the library's ``struct Arrays``."""

    shape: Ints
    stream: NDArray[np.int32]
    owner: NDArray[np.int32]
    idx: Ints
    need_base: Ints
    requests: Ints
    behind: Ints
    route: Ints
    hit_route: Ints
    response_route: Ints
    ports: Ints
    makers: Ints
    link_room: Ints
    uplink: Ints

    def as_struct(self) -> Struct:
        """Return the addresses of all arrays, which must outlive the result."""
        addresses = [getattr(self, field.name).ctypes.data for field in fields(self)]
        return Struct(*addresses, len(self.ports))


def arrays_of(gather: Gather, params: ClusterParams) -> Arrays:
    """Return all arrays that describe a cluster to the library."""
    topology, needs = params.network.topology, needs_of(gather)
    shape = shape_of(gather, params)
    requests, behind = requests_of(gather)
    uplinks = np.array([topology.link_of(node) for node in range(topology.nodes)], np.int64)
    whole = {
        "shape": np.array([shape[name] for name in SHAPE_FIELDS], np.int64),
        "requests": requests,
        "behind": behind.astype(np.int64),
        "route": topology.tables(gather.spine_choice),
        "hit_route": hit_routes(topology, gather.spine_choice),
        "response_route": response_routes(topology, gather.spine_choice),
        "ports": ports_of(topology),
        "makers": makers_of(gather, params),
        "link_room": link_rooms(params),
        "uplink": uplinks,
    }
    return Arrays(
        stream=needs.stream,
        owner=needs.owner,
        idx=needs.idx,
        need_base=needs.base,
        **{name: np.ascontiguousarray(array) for name, array in whole.items()},
    )
