"""Tests the model of a cluster by what holds for any run; RTL runs compare themselves with it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from hdl.netsparse.limits import MAX_UNITS
from sim.netsparse.builds import one_rack
from sim.netsparse.gather import Gather, check_counters
from sim.netsparse.model import library
from sim.netsparse.model.accuracy import Compared, bounds_table
from sim.netsparse.model.run import ModelStuckError, model_gather
from sim.netsparse.spmm import SpmmRun, matrix_for
from sim.netsparse.spmm_session import SpmmSession
from sim.netsparse.spmm_text import MODELLED
from sim.netsparse.spmm_workload import SpmmWorkload
from sim.workloads.partition import Partition
from tests.sim.netsparse.cases import VIRTUAL

SNIC = find_design("netsparse-snic")


def modelled(params, matrix, **settings):
    """Return a product on the model, whose counters have been compared with each other."""
    requested = SpmmWorkload(**{"model": True, "matrix": matrix} | settings)
    run = SpmmRun(matrix_for(matrix, requested.nodes, requested.seed), params, requested)
    result = run.model(requested.cluster(params))
    check_counters(run.gather, result)
    return run, result


def total(result, name):
    return sum(node.totals[name] for node in result.nodes)


RACKS = {"racks": 2, "nodes": 4, "switch": "tiny:output_beats=1024", "property_bytes": 32}
MECHANISMS = [
    {},
    {"filter": False},
    {"coalesce": False},
    {"concatenate": False, "switch_concatenate": False},
    {"switch_cache": False},
    {"rings": True, "batch": 40},
    {"aligned": False, "read_delay": 0, "response_delay": 0},
]


@pytest.mark.parametrize("settings", MECHANISMS, ids=lambda each: "-".join(each) or "all")
def test_counters_agree(settings):
    params = SNIC.params_of("tiny", nodes=4)
    run, result = modelled(params, "uk:nodes=4,rows=1500", **RACKS | settings)
    if not settings.keys() & {"filter", "coalesce"}:  # one client a node: each distinct idx once
        distinct = sum(run.gather.expected(node).distinct for node in range(4))
        assert total(result, "prs") == distinct
    hits = sum(switch.pipe("cache_hit") for switch in result.switches)
    assert bool(hits) == settings.get("switch_cache", True)
    assert total(result, "served") + hits == total(result, "prs") == total(result, "responses")
    again = run.model(run.requested.cluster(params))
    assert replace(again, seconds=0) == replace(result, seconds=0)


def test_virtual_queues_and_one_rack():
    """With several clients, PRs lie between the distinct idxs of a node and of its clients."""
    _, result = modelled(VIRTUAL, "stokes:nodes=4,rows=300", nodes=4, property_bytes=16, batch=50)
    assert not any(switch.pipes for switch in result.switches)
    assert 0 < total(result, "prs") < total(result, "consumed")


def test_a_bit_that_is_set_stays_set():
    """Several clients ask for one idx repeatedly: PRs are sent only before it has come."""
    clients, repeats = 3, 400
    idxs = [[[np.full(repeats, 1 - node)] for _ in range(clients)] for node in range(2)]
    gather = Gather(
        partition=Partition.blocks(2, 2),
        properties=np.zeros((2, 4), np.uint32),
        idxs=idxs,
        servers=1,
        mechanisms={"coalesce": 0},
    )
    result = model_gather(gather, one_rack(VIRTUAL, 2))
    for node in result.nodes:
        assert node.totals["consumed"] == clients * repeats
        assert clients <= node.totals["prs"] <= clients * VIRTUAL.rig.pending_entries


@pytest.mark.parametrize("delay", [0, 2, 3, 10])
def test_delay_decides_which_reads_join(delay):
    """A node's own idxs take a cycle each and make no PR: they keep two reads apart.

    The first read comes a cycle later, since nobody was chosen when it asked for its turn. A time
    comes out of the queue of times three cycles after it went in at the earliest.
    """
    joined = {}
    for gap in range(1, 13):  # cycles; behind 13 the last reads leave anyway
        apart = np.concatenate([[1], np.zeros(gap - 1, int), [1]])
        gather = Gather(
            partition=Partition.blocks(2, 2),
            properties=np.zeros((2, 4), np.uint32),
            idxs=[[[apart]], [[np.ones(1, int)]]],
            servers=1,
            mechanisms={"filter": 0, "coalesce": 0, "read_delay": delay},
        )
        result = model_gather(gather, one_rack(SNIC.params_of("tiny", nodes=2), 2))
        counts = result.nodes[0].snic
        assert counts["reads_sent_prs"] == 2
        joined[gap] = counts["reads_sent_packets"] == 1
    assert joined == {gap: gap <= max(delay, 3) + 1 for gap in joined}


def test_cycles_grow_with_every_latency():
    """That of SNIC memory counts, too, if the filter's cache cannot hold all lines."""
    least_cache = {"filter_banks": 1, "filter_ways": 1, "filter_cache_bytes": 128}
    params = replace(SNIC.params_of("tiny", nodes=4), **least_cache)
    _, least = modelled(params, "europe:nodes=4,rows=4000", **RACKS)
    for longer in ("link_latency", "host_latency", "dram_latency"):
        _, more = modelled(params, "europe:nodes=4,rows=4000", **RACKS | {longer: 250})
        assert more.cycles > least.cycles, longer


def test_session_of_many_nodes(tmp_path):
    """No RTL simulation here is as large: 128 nodes with 32 units each."""
    requested = SpmmWorkload(
        model=True, matrix="queen:rows=6000", nodes=128, racks=8, spines=16, switch="paper"
    )
    session = SpmmSession(SNIC.params_of("paper"), requested)
    build = session.build(session.hardware(session.params, requested))
    assert build.folder == library.build().folder
    result = session.run(build, tmp_path)
    assert (result.exact, result.verdict, result.figures.get("exact")) == (None, MODELLED, None)
    assert session.title.endswith("on a model")
    ends = [node["cycles"] for node in result.details["nodes"]]
    assert ends == result.details["network"]["node_cycles"]
    assert len(set(ends)) > 1
    assert max(ends) == result.details["all"]["cycles"] == result.figures["cycles"]
    assert result.figures["unit_consumed"] == session.product.matrix.nnz
    assert (tmp_path / session.write(tmp_path)[0]).stat().st_size


@pytest.mark.parametrize("rings", [False, True])
def test_all_of_the_most_units_take_part(rings):
    """Host memory has one user more, the rings."""
    params = SNIC.params_of("tiny", units=MAX_UNITS)
    _, result = modelled(params, "queen:rows=400", batch=8, rings=rings, clients=40, servers=24)
    for node in result.nodes:
        assert all(unit["consumed"] for unit in node.units[:40])
        assert all(unit["served"] for unit in node.units[40:])


@pytest.mark.long
def test_a_model_has_a_thousand_nodes(tmp_path):
    """Spines of 64 racks have more ports than hardware; each node is heard."""
    requested = SpmmWorkload(
        model=True, matrix="queen:rows=4096", nodes=1024, racks=64, spines=16, batch=64
    )
    session = SpmmSession(SNIC.params_of("tiny", nodes=1024), requested)
    result = session.run(session.build(session.hardware(session.params, requested)), tmp_path)
    assert result.figures["unit_consumed"] == session.product.matrix.nnz
    assert len(result.details["nodes"]) == 1024


def test_stuck():
    params = SNIC.params_of("tiny", nodes=4)
    run, _ = modelled(params, "europe:nodes=4,rows=800", **RACKS)
    short = replace(run.gather, timeout_cycles=100)
    with pytest.raises(ModelStuckError, match="has not ended after"):
        model_gather(short, run.requested.cluster(params))


def test_the_page_has_the_bounds():
    page = Path(library.__file__).with_name("README.md").read_text()
    assert bounds_table() in page, "a row that differs comes from accuracy.bounds_table()"


@pytest.mark.parametrize(
    ("name", "rtl", "model", "near"),
    [
        ("PRs", 1000, 1001, False),
        ("packets", 40, 45, True),
        ("packets", 40, 46, False),
        ("packets", 1000, 950, True),
        ("packets", 1000, 949, False),
        ("cycles", 1000, 1100, True),
        ("cycles", 10, 12, False),
    ],
)
def test_figures_are_near_within_the_bounds(name, rtl, model, near):
    assert Compared(name, rtl, model).near == near
