"""Runs a gather on SNICs with the most RIG units, as many as the paper's sweep has."""

from dataclasses import replace

import pytest

from hdl.netsparse.limits import MAX_UNITS
from sim.netsparse.reproduce.sensitivity import UNITS
from tests.sim.netsparse.cases import VIRTUAL, family, make_gather, run_gather, surroundings

MOST = replace(  # two nodes, and the smallest of everything but units
    VIRTUAL,
    units=MAX_UNITS,
    rig=replace(VIRTUAL.rig, nodes=2, most_property_bytes=64),
    host_requests=16,
)


@pytest.mark.long
def test_most_units(tmp_path, rng):
    """All bytes and counts are right, and each client has consumed its own idxs alone."""
    assert max(UNITS.values) == MAX_UNITS
    clients = int(rng.integers(MAX_UNITS // 2 + 1, MAX_UNITS))
    gather = make_gather(
        rng,
        family("stokes"),
        2,
        4 * int(rng.integers(1, 17)),
        clients,
        MAX_UNITS - clients,
        batch=int(rng.integers(8, 17)),
        **surroundings(rng),
    )
    gathered = run_gather(gather, MOST, tmp_path, rng)
    for queues, node in zip(gather.idxs, gathered.result.nodes, strict=True):
        requested = [sum(map(len, queue)) for queue in queues]
        consumed = [unit["consumed"] for unit in node.units]
        assert consumed == requested + [0] * (MAX_UNITS - clients)
        assert len([unit for unit in node.units[clients:] if unit["served"]]) > 0
