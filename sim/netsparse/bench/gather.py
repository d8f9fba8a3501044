"""Measures the rates of a gather between two SNICs: idxs, PRs and bytes a cycle, by counters."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.params import RigParams
from sim.bench.limits import Limit, Row
from sim.netsparse.builds import build_gather
from sim.netsparse.gather import Gather, Gathered, check, simulate_gather
from sim.netsparse.gather_job import NodeResult
from sim.workloads.matrices import load_matrix
from sim.workloads.partition import Ints, Partition, batches

LEAST_PIPELINE = Limit(0.95, at_least=True)
LEAST_SHARED = Limit(3.8, at_least=True)
#: PRs a cycle that a node asks for and answers, by the bytes of a property
LEAST_EXCHANGED = {4: Limit(0.9, at_least=True)}
#: bytes a cycle that a node sends, of the 64 that its link takes, by the bytes of a property: a PR
#: of 64 bytes takes 105 with its read, so that 0.7 PRs a cycle would be 73
LEAST_SENT = {64: Limit(0.9 * 64, at_least=True)}
#: PRs a cycle of a node before its units had 256 entries each, by the bytes of a property
BEFORE = {4: "0.24 to 0.36", 64: "0.24 to 0.36"}
ENTRIES_BEFORE = 64  #: PRs that a unit could have under way then
ALIGNED, NAIVE = Limit(5), Limit(8)
HARDWARE = SnicParams(
    units=8,
    rig=RigParams(
        nodes=4,
        idx_bits=24,
        address_bits=34,
        lsq_entries=32,
        lsq_reserved=8,
    ),
    filter_banks=8,
    filter_unit_bytes=1024,
    filter_cache_bytes=16384,
    filter_ways=2,
    dram_address_bits=30,
)
ROWS = 16_384
EXCHANGED = 4 * ROWS  #: rows of an exchange
#: PRs of 4 bytes that a node asks for in an exchange: all rows that the other one has, so that the
#: 900 cycles of start and end, in which the last responses wait for DelayCycles, are few beside it
MAX_EXCHANGED = EXCHANGED // 2
CLIENTS = 7  #: clients that share the idx filter; the eighth unit serves
EXCHANGERS = 4  #: clients of a node in an exchange; as many units serve
BATCH = 1024  #: idxs that clients are dealt in turn
SHORT_DELAYS = {"read_delay": 30, "response_delay": 30}  #: longer ones fill tables of pending PRs
LATENCY = {"read_latency": 100, "write_latency": 50}  #: latencies of host memory
SURROUNDINGS = {"host": LATENCY, "dram": LATENCY, "link": {"latency": 20}}


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Measure the pipeline of one unit, seven that share, all units at once, and line requests."""
    progress("simulator of two SNICs")
    rng = np.random.default_rng(1)
    build_gather(HARDWARE, 2)
    progress("one unit, redundant idxs")
    result = pipeline_rows(rng)
    progress("seven units that share idxs")
    result += shared_rows()
    for size in (4, 64, 512):
        progress(f"four units, properties of {size} bytes")
        result += exchange_rows(rng, size)
    progress("lines of host memory")
    return [*result, *line_rows(), *single_rows()]


def measure(
    idxs: list[list[list[Ints]]], size: int, servers: int, rows: int = ROWS, **options: Any
) -> Gathered:
    """Run and check a gather on the bench's hardware."""
    words = np.arange(rows * size // 4, dtype=np.uint32).reshape(rows, -1)
    gather = Gather(
        partition=Partition.blocks(rows, 2),
        properties=words,
        idxs=idxs,
        servers=servers,
        **SURROUNDINGS,
        **options,
    )
    params, simulator = build_gather(HARDWARE, 2)
    gathered = simulate_gather(gather, params, simulator, seed=1)
    check(gather, gathered)
    return gathered


def pipeline_rows(rng: np.random.Generator) -> list[Row]:
    """Measure without stalls: all but the first of each remote idx are coalesced or filtered."""
    idxs = ROWS // 2 + rng.integers(0, 64, 40_000)
    node = measure([[[idxs]], [[]]], 4, servers=1).result.nodes[0]
    consumed, cycles = node.totals["consumed"], node.snic["cycles"]
    note = f"{consumed:,} idxs in {cycles:,} cycles, start and last response included"
    return [
        Row(
            what="client pipeline, one unit",
            value=consumed / cycles,
            unit="idx/cycle",
            limit=LEAST_PIPELINE,
            note=note,
        )
    ]


def shared_rows() -> Iterator[Row]:
    """Measure what all clients of a node take a cycle together when they want the same idxs."""
    for what, (columns, idxs), limit in (
        ("airlines", airlines(), LEAST_SHARED),
        ("roads", roads(), None),
    ):
        dealt = batches(idxs, BATCH)
        units = [[np.concatenate(dealt[unit::CLIENTS])] for unit in range(CLIENTS)]
        node = measure(
            [units, [[]]], 4, servers=1, rows=columns, mechanisms=SHORT_DELAYS
        ).result.nodes[0]
        totals, cycles = node.totals, node.snic["cycles"]
        stall = totals["filter_stall"] / (CLIENTS * cycles)
        note = (
            f"{totals['consumed']:,} idxs, {totals['local']:,} local, {totals['prs']:,} PRs;"
            f" clients wait for the idx filter in {stall:.0%} of all cycles, for room in the"
            f" Pending PR Table in {totals['table_stall'] / (CLIENTS * cycles):.0%}"
        )
        yield Row(
            what=f"{CLIENTS} clients, {what}",
            value=totals["consumed"] / cycles,
            unit="idx/cycle",
            limit=limit,
            note=note,
        )


def airlines(airports: int = 3_400, flights: int = 68_000) -> tuple[int, Ints]:
    """Return the columns, and node 0's idxs of them, of a network whose largest hub node 1 owns.

    There are as many airports and flights as in openflights.org's list of routes, about. Flights
    of the airport in place k of all are proportional to 1/k (Zipf's law). The largest hub has the
    highest number, the rows are in a random order, idxs ascend within a row.
    """
    rng = np.random.default_rng(2)
    share = 1 / np.arange(1, airports + 1)
    order = rng.permutation(airports)
    tails, heads = rng.choice(airports, (2, flights), p=share / share.sum())
    own = order[tails] < airports // 2
    idxs, rows = airports - 1 - heads[own], order[tails][own]
    return airports, idxs[np.lexsort((idxs, rows))]


def roads() -> tuple[int, Ints]:
    """Return the columns of a road network in random order, and node 0's idxs: half are remote."""
    matrix: Any = load_matrix("europe:nodes=2,rows=8000")
    rng = np.random.default_rng(3)
    order = rng.permutation(matrix.shape[0])
    matrix = matrix[order][:, order]
    matrix.sort_indices()
    return matrix.shape[0], Partition.blocks(matrix.shape[0], 2).idx_stream(matrix, 0)


def exchange_rows(rng: np.random.Generator, size: int) -> list[Row]:
    """Measure both nodes asking each other for some of what they have, with four units."""
    gathered = exchange(rng, size, each := MAX_EXCHANGED // max(1, size // 32))
    nodes = gathered.result.nodes
    cycles = max(node.snic["cycles"] for node in nodes)
    prs = sum(node.totals["prs"] for node in nodes)
    octets = sum(
        node.snic[f"{name}_sent_bytes"] for node in nodes for name in ("reads", "responses")
    )
    what = f"exchange, {size} B"
    note = f"4 client and 4 server units a node, {prs:,} PRs in {cycles:,} cycles"
    earlier = f"; {BEFORE[size]} with {ENTRIES_BEFORE} entries a unit" if size in BEFORE else ""
    packets = sum(node.snic["responses_sent_packets"] for node in nodes)
    rows = [
        Row(
            what=what,
            value=prs / cycles / 2,
            unit="PR/cycle",
            limit=LEAST_EXCHANGED.get(size),
            note=f"a node; {note}{earlier}",
        ),
        reads_row(what, nodes),
        Row(
            what=what,
            value=octets / cycles / 2,
            unit="bytes/cycle",
            limit=LEAST_SENT.get(size),
            note=f"sent by a node: {octets / prs:.1f} a PR",
        ),
        Row(what=what, value=prs / packets, unit="PR/packet", note="of responses"),
        Row(
            what=what,
            value=gathered.result.cycles / gathered.result.seconds,
            unit="cycles/s",
            note="simulated, two SNICs with their memories",
        ),
    ]
    if size == 4:
        rows.append(steady_row(nodes, exchange(rng, size, each // 2).result.nodes))
    return rows


def reads_row(what: str, nodes: Sequence[NodeResult]) -> Row:
    """Return how many reads a node may have outstanding, and how often that is not enough."""
    most = EXCHANGERS * HARDWARE.rig.pending_entries
    waits = sum(node.totals["table_stall"] for node in nodes)
    waits /= EXCHANGERS * sum(node.snic["cycles"] for node in nodes)
    return Row(
        what=what,
        value=most,
        unit="reads",
        note=f"outstanding at most, of {EXCHANGERS} clients of a node; before"
        f" {EXCHANGERS * ENTRIES_BEFORE}; clients wait for one to end in {waits:.0%} of all cycles",
    )


def exchange(rng: np.random.Generator, size: int, each: int) -> Gathered:
    """Run an exchange in which each node asks for ``each`` of the rows that the other one has."""
    half = EXCHANGED // 2
    idxs = [np.array_split(base + rng.permutation(half)[:each], EXCHANGERS) for base in (half, 0)]
    requests = [[[part] for part in parts] for parts in idxs]
    return measure(requests, size, servers=EXCHANGERS, rows=EXCHANGED)


def steady_row(longer: Sequence[NodeResult], shorter: Sequence[NodeResult]) -> Row:
    """Return the rate of what a ``longer`` exchange has more than a ``shorter`` one, which has the
    same start and end.
    """
    prs, cycles = (
        sum(count(node) for node in longer) - sum(count(node) for node in shorter)
        for count in (lambda node: node.totals["prs"], lambda node: node.snic["cycles"])
    )
    return Row(
        what="exchange, 4 B, without start and end",
        value=prs / cycles,
        unit="PR/cycle",
        limit=LEAST_EXCHANGED[4],
        note="a node; 16/17 is the most that host memory gives: a beat a cycle, one for each PR's"
        " property and one for 16 idxs",
    )


def line_rows() -> Iterator[Row]:
    """Measure the paper's example: 480 bytes at address 480, which node 1 has from node 0."""
    for name, aligned, limit in (("aligned", 1, ALIGNED), ("naive", 0, NAIVE)):
        idxs = [[[]], [[np.array([1])]]]
        nodes = measure(idxs, 480, 1, rows=4, mechanisms={"aligned": aligned}).result.nodes
        reads = nodes[0].snic["host_read_requests"]
        yield Row(
            what=f"line requests, {name}",
            value=nodes[1].snic["host_write_requests"],
            limit=limit,
            note=f"480 bytes written at 480; {reads} to read them",
        )


def single_rows() -> list[Row]:
    """Measure one PR alone, which no other PR helps out of a queue, from request to end."""
    idxs = [[[np.array([ROWS // 2])]], [[]]]
    return [
        Row(
            what=f"a single PR, {what}",
            value=measure(idxs, 64, 1, mechanisms=mechanisms).result.nodes[0].snic["cycles"],
            unit="cycles",
            note="memories of 100 cycles and a link of 20 included, both ways",
        )
        for what, mechanisms in (("delays as after reset", {}), ("delays of 30", SHORT_DELAYS))
    ]
