"""Aggregations by the RTL of a switch and its endpoints are exact, one after the other."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sim.switchgnn.gcn.aggregator import COUNTERS, ExactAggregator
from sim.switchgnn.gcn.golden_aggregator import SwitchSetup, planned
from sim.switchgnn.golden.aggregation import edges_between
from sim.switchgnn.links import Faults
from sim.switchgnn.network.network import build_network
from sim.switchgnn.network.rtl_aggregator import RtlNetwork
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.workers import WorkerPartition
from tests.hdl.switchgnn.test_network import SIZES
from tests.sim.switchgnn.cases import directed

PARAMS = SIZES["tiny"]
WORKERS = PARAMS.endpoints.workers
VERTICES = 40
BAD = Faults(drop=0.1, duplicate=0.1, reorder=0.2, corrupt=0.02)
WIDTHS = (3, 5)


def setup(open_turns=2, faults=BAD):
    switch = PARAMS.switch
    depth = open_turns * PARAMS.endpoints.endpoint.depth
    shape = SwitchShape(
        ports=switch.ports,
        banks=switch.banks,
        depth=depth,
        lanes=switch.lanes,
        open_turns=open_turns,
        rows=switch.rows,
        descriptor_rows=switch.descriptor_rows,
    )
    return SwitchSetup(shape=shape, window=switch.window, faults=faults)


@pytest.mark.parametrize(("open_turns", "faults"), [(1, Faults()), (2, BAD)])
def test_sums_are_exact_for_every_width_and_graph(open_turns, faults, tmp_path):
    rng = np.random.default_rng(5)
    adjacency, _ = directed(vertices=VERTICES, edges=160)
    owner = rng.integers(0, WORKERS, VERTICES).astype(np.int32)
    partition = WorkerPartition(owner=owner, workers=WORKERS)
    graphs = [adjacency, csr_array(adjacency.T)]
    how = setup(open_turns, faults)
    with RtlNetwork(PARAMS, build_network(PARAMS), tmp_path, how) as network:
        made = [network.aggregator(graph, partition, WIDTHS) for graph in graphs]
        for which, width in [(0, 3), (0, 5), (0, 5), (1, 5), (0, 3), (1, 3)]:
            features = rng.integers(-(1 << 15), 1 << 15, (VERTICES, width), dtype=np.int16)
            exact = ExactAggregator(graphs[which], partition).aggregate(features)
            assert (made[which].aggregate(features) == exact).all()
    lanes = PARAMS.switch.lanes
    for aggregator, graph, widths in zip(made, graphs, [(3, 5, 5, 3), (5, 3)], strict=True):
        slices = sum(-(-width // lanes) for width in widths)
        counts, blocks = aggregator.counts, planned(graph, partition, [3], how)[3].blocks
        assert set(counts) == set(COUNTERS)
        assert counts["additions"] == edges_between(graph, owner).nnz * slices
        assert counts["turns"] == blocks * slices
        assert bool(counts["repeats"]) == (faults is BAD)
        assert counts["frames"] * 60 < counts["bytes"] < counts["frames"] * 128
        assert counts["cycles"] > counts["rows"] > slices
