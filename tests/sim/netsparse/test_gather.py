"""Runs gathers on two and four SNICs in RTL: every byte of host memory and every count is right."""

from contextlib import chdir
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.idx_fetch import IdxFetch
from sim.netsparse.builds import build_gather, one_rack
from sim.netsparse.gather import Gather, GatherError, check, simulate_gather
from sim.netsparse.golden.line_requests import line_requests
from sim.netsparse.model.accuracy import figures_of
from sim.netsparse.model.run import model_gather
from sim.workloads.partition import Partition
from tests.long import short_and_long, short_products
from tests.sim.netsparse.calibration import check_calibrated
from tests.sim.netsparse.cases import (
    EIGHT,
    FAMILIES,
    ONE,
    VIRTUAL,
    family,
    make_gather,
    run_gather,
    surroundings,
)

SIZES = [4, 16, 64, 512]


# Each size once; the long form has each of them with every family.
TWO_NODES = [(4, "queen"), (16, "stokes"), (64, "uk"), (512, "arabic")]


@pytest.mark.parametrize(
    ("property_bytes", "name"), short_products(SIZES, FAMILIES, short=TWO_NODES)
)
def test_two_nodes(tmp_path, rng, name, property_bytes):
    """There are one to seven client units; the others serve."""
    clients = int(rng.integers(1, 8))
    gather = make_gather(
        rng,
        family(name),
        2,
        property_bytes,
        clients,
        8 - clients,
        idx_bytes=int(rng.choice([4, 8])),
        property_address=4 * int(rng.integers(0, 64)),
        **surroundings(rng),
    )
    run_gather(gather, EIGHT, tmp_path, rng)


@pytest.mark.long
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("property_bytes", [4, 512])
def test_four_nodes_with_the_smallest_tables(tmp_path, rng, name, property_bytes):
    clients = int(rng.integers(1, 4))
    gather = make_gather(
        rng, family(name), 4, property_bytes, clients, 4 - clients, **surroundings(rng)
    )
    run_gather(gather, VIRTUAL, tmp_path, rng)


MECHANISMS = {
    "RIG": {"filter": 0, "coalesce": 0, "concatenate": 0},
    "Filter": {"filter": 1, "coalesce": 0, "concatenate": 0},
    "Coalesce": {"filter": 1, "coalesce": 1, "concatenate": 0},
    "Conc": {"filter": 1, "coalesce": 1, "concatenate": 1},
    "no filter": {"filter": 0, "coalesce": 1, "concatenate": 1},
}


@pytest.mark.parametrize("row", short_and_long(MECHANISMS, ["RIG", "Conc"]))
def test_ablation(tmp_path, rng, row):
    """One build runs Table 8's rows; each counts what it must, a PR per packet where PRs stay
    alone.
    """
    around = surroundings(rng)
    around["mechanisms"] |= MECHANISMS[row]
    gather = make_gather(rng, family("arabic"), 2, 64, 1, 1, **around)
    gathered = run_gather(gather, EIGHT, tmp_path, rng)
    for node, result in enumerate(gathered.result.nodes):
        totals, expected = result.totals, gather.expected(node)
        if row == "RIG":
            assert totals["prs"] == expected.remote
        if row in ("Coalesce", "Conc"):
            assert totals["prs"] == expected.distinct
        if not MECHANISMS[row]["concatenate"]:
            assert result.snic["reads_sent_packets"] == totals["prs"]
            assert result.snic["responses_sent_prs_1"] == result.snic["responses_sent_packets"]


@pytest.mark.parametrize("aligned", [True, False])
def test_line_requests(tmp_path, rng, aligned):
    """Host memory is asked for exactly the formula's lines: writes, reads and idxs."""
    size, base = 480, 4 * int(rng.integers(0, 32))
    gather = make_gather(
        rng,
        family("stokes"),
        2,
        size,
        1,
        2,
        property_address=base,
        mechanisms={"aligned": aligned},
        batch=1 << 20,
    )
    gathered = run_gather(gather, EIGHT, tmp_path, rng)

    def lines(address, octets):
        return len(line_requests(address, octets, aligned=bool(aligned)))

    def requests(idxs):
        return sum(lines(base + int(idx) * size, size) for idx in idxs)

    def idx_requests(command):
        """Return those of an array of idxs, whose pieces end at multiples of a chunk."""
        at, end = command.idx_address, command.idx_address + 4 * command.count
        chunk = IdxFetch(EIGHT.rig).chunk_bytes
        observed = 0
        while at < end:
            piece = min(chunk - at % chunk, end - at)
            observed += lines(at, piece)
            at += piece
        return observed

    remote = []
    for node in range(2):
        idxs = np.unique(gather.flat(node))
        remote.append(idxs[~gather.partition.is_local(idxs, node)])
    for node, result in enumerate(gathered.result.nodes):
        ((command,),) = gather.requests(node)
        assert result.snic["host_write_properties"] == len(remote[node])
        assert result.snic["host_write_requests"] == requests(remote[node])
        served = requests(remote[1 - node])
        assert result.snic["host_read_requests"] == served + idx_requests(command)


def test_golden_memory_is_compared(tmp_path, rng):
    """A byte that differs is found, even one that nobody asked for."""
    gather = make_gather(rng, family("queen"), 2, 16, 2, 2)
    params, simulator = build_gather(EIGHT, 2)
    with chdir(tmp_path):  # a relative folder will do
        gathered = simulate_gather(gather, params, simulator, folder=Path("here"), seed=1)
    check(gather, gathered)
    for at in (0, len(gathered.hosts[1]) // 2, len(gathered.hosts[1]) - 1):
        stored = gathered.hosts[1]
        gathered.hosts[1] = stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :]
        with pytest.raises(GatherError, match=f"node 1 differs from byte {at:#x}"):
            check(gather, gathered)
        gathered.hosts[1] = stored


@pytest.mark.long
def test_one_unit_a_node(tmp_path, rng):
    """One node's only unit asks, and the other's serves it."""
    matrix = family("stokes")
    gather = make_gather(rng, matrix, 2, 64, 1, 1, **surroundings(rng))
    alone = replace(gather, idxs=[gather.idxs[0], [[]]], servers=[0, 1])
    gathered = run_gather(alone, ONE, tmp_path, rng)
    assert gathered.result.nodes[0].totals["prs"] == gather.expected(0).distinct
    assert gathered.result.nodes[1].totals["served"] == gather.expected(0).distinct


@pytest.mark.long
def test_as_large_as_the_paper(tmp_path, rng):
    """Table 5's SNIC has all its 32 units, half of them servers, on two nodes.

    Caches of the idx filter are smaller, because a set or block of them is cleared a cycle.
    """
    snic = replace(SnicParams(), filter_unit_bytes=1024, filter_cache_bytes=131072)
    gather = make_gather(rng, family("uk"), 2, 64, 16, 16, **surroundings(rng))
    gathered = run_gather(gather, snic, tmp_path, rng)
    assert all(unit["consumed"] for unit in gathered.result.nodes[0].units[:16])


CALM: dict[str, Any] = {  # surroundings in which nothing stalls by chance
    "mechanisms": {"read_delay": 30, "response_delay": 30},
    "host": {"read_latency": 20, "write_latency": 20},
    "dram": {"read_latency": 10},
    "link": {"latency": 5},
}


def check_exact(gather, result):
    """Return the model's result; assert that each figure and node equals the RTL's."""
    modelled = check_calibrated(gather, one_rack(EIGHT, 2), result)
    assert figures_of(modelled) == figures_of(result)
    for own, reference in zip(modelled.nodes, result.nodes, strict=True):
        assert own.cycles == reference.cycles
        assert own.accesses == reference.accesses
    return modelled


@pytest.mark.parametrize("rings", [None, 5], ids=["registers", "rings"])
def test_the_model_knows_when_requests_of_four_clients_begin(tmp_path, rng, rings):
    """A host submits short requests in turn, or all that are due at once by rings."""
    gather = make_gather(rng, family("uk"), 2, 32, 4, 4, batch=40, rings=rings, **CALM)
    gathered = run_gather(gather, EIGHT, tmp_path, rng)
    modelled = check_exact(gather, gathered.result)
    assert modelled.first_packet == gathered.result.first_packet


@pytest.mark.parametrize(("rings", "requests"), [(5, 40), (1, 10)])
def test_the_model_steps_rings_as_driver_and_snic_do(tmp_path, rng, rings, requests):
    """Requests of one local idx use nothing but their rings, of 32 places, or of 2, which fill."""
    own = [[rng.integers(0, 128, 1) for _ in range(requests)] for _ in range(4)]
    gather = Gather(
        partition=Partition.blocks(256, 2),
        properties=rng.integers(0, 1 << 32, (256, 8), dtype=np.uint32),
        idxs=[own, [[]] * 4],
        servers=4,
        rings=rings,
        **CALM,
    )
    gathered = run_gather(gather, EIGHT, tmp_path, rng)
    check_exact(gather, gathered.result)


def test_the_model_knows_when_answers_wait_for_a_busy_link(tmp_path, rng):
    """Packets of eight-beat properties fill both directions of each link, so lines run short.

    What then joins a packet hangs on when each line is read, and on how many beats wait in front of
    the concatenator.
    """
    gather = make_gather(rng, family("stokes"), 2, 512, 4, 4, batch=40, rings=5, **CALM)
    begun = replace(gather, idxs=[[queue[:6] for queue in node] for node in gather.idxs])
    gathered = run_gather(begun, EIGHT, tmp_path, rng)
    check_exact(begun, gathered.result)


def test_properties_longer_than_the_build_takes_are_refused(rng):
    most = ONE.rig.most_property_bytes
    gather = make_gather(rng, family("queen"), 2, most + 4, 1, 1)
    with pytest.raises(ValueError, match=f"properties may have {most} bytes in this build"):
        gather.job(ONE)


@pytest.mark.parametrize(("rings", "latency"), [(1, 6), (5, 7)])
def test_the_model_knows_in_which_cycles_a_ring_is_looked_at(tmp_path, rng, rings, latency):
    """How long the host takes to open its rings, and all nodes to begin, makes no difference."""
    around = CALM | {"link": {"latency": latency}}
    gather = make_gather(rng, family("uk"), 2, 32, 4, 4, batch=40, rings=rings, **around)
    begun = replace(gather, idxs=[[queue[:6] for queue in node] for node in gather.idxs])
    check_exact(begun, run_gather(begun, EIGHT, tmp_path, rng).result)


def prs_of(result):
    """Return the PRs of all nodes."""
    return sum(node.totals["prs"] for node in result.nodes)


def test_prs_of_several_clients_hang_on_single_cycles(tmp_path):
    """One cycle of a latency changes the RTL's PRs, and the model's alike.

    A client asks for an idx unless another's property has come before, so PRs are decided by which
    of them is first. With one client a node, nothing but the mechanisms decides them.
    """

    def drawn(clients, latency):
        rng = np.random.default_rng(1)  # of all that differs nothing but the latency does
        around = CALM | {"host": CALM["host"] | {"read_latency": latency}}
        return make_gather(rng, family("queen"), 2, 32, clients, 4, batch=40, **around)

    def modelled(latency):
        return prs_of(model_gather(drawn(4, latency), one_rack(EIGHT, 2)))

    changes = next(
        pair for pair in pairwise(range(10, 60)) if modelled(pair[0]) != modelled(pair[1])
    )
    counts = {}
    for clients, latency in product((4, 1), changes):
        gather, rng = drawn(clients, latency), np.random.default_rng(latency)
        gathered = run_gather(gather, EIGHT, tmp_path / f"{clients}-{latency}", rng)
        check_exact(gather, gathered.result)
        counts.setdefault(clients, set()).add(prs_of(gathered.result))
    assert len(counts[4]) > 1 == len(counts[1]), counts
