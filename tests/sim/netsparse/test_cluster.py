"""Runs products on three racks in RTL: SNICs, ToR switches with caches, two spines, links.

``cs_stanford_web_1000.npz`` holds the first 1,000 rows and columns of SNAP's and SuiteSparse's
cs_stanford (a crawl of its web pages): the columns of its nonzeros, and how many a row has.
"""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sim.netsparse.builds import build_cluster
from sim.netsparse.network_figures import NetworkFigures
from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.spmm import SpmmRun
from sim.netsparse.spmm_workload import SpmmWorkload
from sim.workloads.matrices import load_matrix
from tests.long import short_and_long, short_products
from tests.sim.netsparse.calibration import check_calibrated
from tests.sim.netsparse.cases import (
    CLUSTER,
    FAMILIES,
    NODES,
    RACKS,
    SNIC,
    SPINES,
    family,
    surroundings,
    web,
)

MECHANISMS = {  # of switches, and whether SNICs concatenate
    "nothing": ({"cache": 0, "concatenate": 0}, False),
    "concatenation": ({"cache": 0, "concatenate": 1}, True),
    "cache": ({"cache": 1, "concatenate": 0}, False),
    "all": ({"cache": 1, "concatenate": 1}, True),
}
IN_RACKS = {"nodes": NODES, "racks": RACKS, "spines": SPINES}
ROWS = 600  #: of the recorded matrix
OFF = ("filter", "coalesce", "concatenate", "switch_cache", "switch_concatenate")
STEPS = {  # of an ablation: what each turns on
    "RIG commands": (),
    "filter": ("filter",),
    "coalescing": ("coalesce",),
    "NIC concatenation": ("concatenate",),
    "switch": ("switch_cache", "switch_concatenate"),
}


@pytest.fixture(scope="module")
def simulator():
    return build_cluster(CLUSTER)


def product(rng, name, mechanisms, property_bytes):
    """Return the product of a family's matrix, in random surroundings."""
    switch, concatenate = MECHANISMS[mechanisms]
    requested = SpmmWorkload(
        **IN_RACKS,
        property_bytes=property_bytes,
        concatenate=concatenate,
        batch=int(rng.choice([20, 1024])),
        spine_choice=SpineChoice(rng.choice([*SpineChoice])),
        seed=int(rng.integers(1 << 31)),
    )
    run = SpmmRun(family(name), SNIC, requested)
    around = surroundings(rng)
    delays = {f"{path}_delay": int(rng.choice([0, 30, 125])) for path in ("read", "response")}
    if mechanisms == "all":  # PRs that come one behind the other join even so
        delays["read_delay"] = 0
    run.gather = replace(
        run.gather,
        switch=switch | delays,
        mechanisms=run.gather.mechanisms | around["mechanisms"],
        **{name: around[name] for name in ("host", "dram", "link")},
    )
    return run


def requested_from_other_racks(gather):
    """Return properties that nodes want from other racks, once for each node."""
    rack = gather.partition.boundaries[:: NODES // RACKS]
    return sum(
        np.count_nonzero(
            np.searchsorted(rack, np.unique(gather.flat(node)), "right") - 1
            != node // (NODES // RACKS)
        )
        for node in range(NODES)
    )


@pytest.mark.parametrize(
    ("name", "mechanisms"), short_products(FAMILIES, MECHANISMS, short=[("stokes", "all")])
)
def test_product(tmp_path, rng, simulator, name, mechanisms):
    """It equals scipy's, every packet and PR is counted, and the model predicts it."""
    run = product(rng, name, mechanisms, int(rng.choice([4, 16, 64])))
    gathered = run.simulate(CLUSTER, simulator, tmp_path)
    run.check(gathered)
    check_calibrated(run.gather, CLUSTER, gathered.result)
    nodes, tors = gathered.result.nodes, gathered.result.switches[:RACKS]
    hits, misses, *stored = (
        sum(tor.pipe(f"cache_{name}") for tor in tors)
        for name in ("hit", "miss", "inserted", "present")
    )
    assert sum(node.totals["served"] for node in nodes) == (
        sum(node.totals["prs"] for node in nodes) - hits
    )
    switch, concatenate = MECHANISMS[mechanisms]
    # Nodes of a rack that ask at the same time both miss, so there may be no hit.
    assert bool(misses) == bool(switch["cache"])
    assert hits + misses == switch["cache"] * requested_from_other_racks(run.gather)
    assert sum(stored) == misses, "what a miss has brought is kept, or was there already"
    if not concatenate:
        counts = [node.snic for node in nodes] + [pipe for tor in tors for pipe in tor.pipes]
        assert all(each["reads_sent_prs"] == each["reads_sent_packets"] for each in counts)


def read_of_other_racks(gather, choice):
    """Return how many properties a rack reads by each spine, once for each of its nodes."""
    result = Counter()
    for node in range(NODES):
        near = node // (NODES // RACKS)
        for owner in gather.partition.owner(np.unique(gather.flat(node))):
            home = int(owner) // (NODES // RACKS)
            by = near + home if choice is SpineChoice.RACKS else int(owner)
            result[near, by % SPINES] += near != home
    return result


@pytest.mark.parametrize(
    ("choice", "alone"),
    short_products(
        SpineChoice,
        [False, True],
        short=[(SpineChoice.HOME, False), *((choice, True) for choice in SpineChoice)],
    ),
)
def test_either_rule_is_exact_and_uses_its_spines(tmp_path, rng, simulator, choice, alone):
    """Links stand still in 30 % of the cycles; PRs that travel alone are counted at each spine.

    How many PRs share a packet is then up to chance, so the model predicts those alone.
    """
    alone_or_not = dict.fromkeys(("concatenate", "switch_concatenate", "switch_cache"), not alone)
    requested = SpmmWorkload(
        **IN_RACKS,
        spine_choice=choice,
        clients=1,
        property_bytes=int(rng.choice([4, 16, 64])),
        link_stall=77,
        link_latency=int(rng.integers(50)),
        seed=int(rng.integers(1 << 31)),
        **dict.fromkeys(("read_delay", "response_delay"), int(rng.integers(200))),
        **alone_or_not,
    )
    run = SpmmRun(load_matrix("stokes:nodes=4,rows=150"), SNIC, requested)
    gathered = run.simulate(CLUSTER, simulator, tmp_path)
    run.check(gathered)
    if alone:
        check_calibrated(run.gather, CLUSTER, gathered.result)
    expected = read_of_other_racks(run.gather, choice)
    for up, (wire, counts) in enumerate(
        zip(CLUSTER.network.topology.links, gathered.result.links, strict=True)
    ):
        tor, spine = wire.source, wire.target.index - RACKS
        if alone and tor.port is not None and tor.index < RACKS and wire.target.port is not None:
            back = gathered.result.links[up ^ 1]["responses"]
            assert expected[tor.index, spine] == counts["reads"]["packets"] == back["packets"]
    assert sum(expected.values()) > 0


@pytest.mark.parametrize("choice", short_and_long(SpineChoice, [SpineChoice.HOME]))
def test_every_mechanism_takes_bytes_off_the_links(tmp_path, simulator, choice):
    """Commands alone up to all that NetSparse has are set at run time; figures 12 and 15."""
    requested = SpmmWorkload(
        **IN_RACKS,
        spine_choice=choice,
        property_bytes=16,
        host_latency=2,
        dram_latency=2,
        link_latency=0,
        read_delay=30,
        response_delay=30,
        **dict.fromkeys(OFF, False),
    )
    octets = []
    for name, on in STEPS.items():
        requested = replace(requested, **dict.fromkeys(on, True))
        run = SpmmRun(web()[:ROWS, :ROWS], SNIC, requested)
        gathered = run.simulate(CLUSTER, simulator, tmp_path / name)
        run.check(gathered)
        result = NetworkFigures(gathered.result)
        octets.append(result.links("bytes"))
        modelled = check_calibrated(run.gather, CLUSTER, gathered.result)
        assert modelled.first_packet == gathered.result.first_packet, "nothing stalls until then"
        print(f"{name}: {octets[-1]:,} bytes, {result.links('packets'):,} packets, {result.tail}")
    assert all(more > less for more, less in pairwise(octets)), octets
