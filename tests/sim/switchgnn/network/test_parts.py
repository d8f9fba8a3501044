"""Cuts networks into processes, a worker or a switch each: nothing differs from the whole."""

import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS
from sim.harness.environment import changed
from sim.harness.failures import SimulationError
from sim.harness.session import RunFailed
from sim.harness.verilate import WAVES
from sim.switchgnn.gcn.aggregator import ExactAggregator
from sim.switchgnn.gcn.session import Cut, GcnSession
from sim.switchgnn.gcn.workload import CUT_LATENCY, CUT_WORKERS, Adder, GcnWorkload
from sim.switchgnn.network.link_settings import LinkSettings
from sim.switchgnn.network.network import build_network
from sim.switchgnn.network.parts import build_parts
from sim.switchgnn.network.rtl_aggregator import RtlNetwork
from tests.hdl.switchgnn.network_sizes import RACKS, SIZES
from tests.sim.harness.running import part_that_runs, simulations
from tests.sim.switchgnn.cases import directed
from tests.sim.switchgnn.gcn.cases import problem, saved
from tests.sim.switchgnn.network.planned import planner

TINY = SIZES["tiny"]
NETWORKS = {"tiny": TINY, "small": SIZES["small"]} | {f"racks_{k}": v for k, v in RACKS.items()}
BAD = LinkSettings(drop=0.1, duplicate=0.1, reorder=0.2, corrupt=0.03, displacement=90)
WIDTH = 3


@contextmanager
def aggregators(folder, params, links, processes=0, vertices=24, **how):
    """Yield a network, its aggregator and the exact one; it is whole without ``processes``."""
    adjacency, partition = directed(vertices=vertices, edges=60, workers=params.endpoints.workers)
    build = build_parts(params) if processes else build_network(params)
    with RtlNetwork(
        params, build, folder, planner(params), links=links, processes=processes, **how
    ) as network:
        exact = ExactAggregator(adjacency, partition)
        yield network, network.aggregator(adjacency, partition, [WIDTH]), exact


def counted(folder, params, links, processes=0, **how):
    """Aggregate twice, exactly; return all counters and the cycle in which they were read."""
    with aggregators(folder, params, links, processes, **how) as (network, observed, exact):
        rng, vertices = np.random.default_rng(links.seed), exact.between.shape[0]
        for _ in range(2):
            features = rng.integers(-(1 << 15), 1 << 15, (vertices, WIDTH), dtype=np.int16)
            assert (observed.aggregate(features) == exact.aggregate(features)).all()
        return network.counters(details=True)


def links_of(rng, latency, **more):
    return replace(BAD, latency=latency, seed=int(rng.integers(1 << 31)), **more)


@pytest.mark.parametrize("longest", [2, 60])
def test_parts_are_the_whole(tmp_path, rng, longest):
    """Counters of workers, switch and links, and cycles, are equal.

    Parts meet at whole epochs: only of a cycle, with the shortest links, none hides who comes late.
    """
    links = links_of(rng, int(rng.integers(2, longest + 1)))
    whole, parts = (counted(tmp_path / str(most), TINY, links, most) for most in (0, 2))
    assert parts == whole
    assert whole.counts["lost"]
    assert whole.counts["repeats"]


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2, 5])
@pytest.mark.parametrize(
    ("name", "latency", "more"),
    [
        ("tiny", 400, {}),
        ("small", 3, {"background": 0.4}),
        ("racks_1", 2, {}),
        ("racks_2", 25, {"background": 0.3}),
    ],
)
def test_shapes(tmp_path, rng, name, latency, more, processes):
    """Racks, tables in memory, other traffic, marks; one part works at a time, or all do."""
    params, links = NETWORKS[name], links_of(rng, latency, **more)
    whole, parts = (counted(tmp_path / str(k), params, links, k, ecn=True) for k in (0, processes))
    assert parts == whole
    assert bool(whole.details["background_beats"]) == bool(more)


@pytest.mark.long
def test_long_answers_are_taken_while_one_part_works_at_a_time(tmp_path):
    """None of them fits a socket, so a part waits until it is taken."""
    links, many = LinkSettings(latency=20), {"vertices": 40_000}
    whole, parts = (counted(tmp_path / str(most), TINY, links, most, **many) for most in (0, 1))
    assert parts == whole


def test_a_part_that_dies_ends_all(tmp_path):
    """It is killed while all of them simulate; a line says which it was, and no process is left."""
    before = set(simulations())

    def aggregate_until_a_worker_is_killed():
        with aggregators(tmp_path, TINY, LinkSettings(latency=20), 2) as (_, observed, _):
            threading.Timer(0.2, part_that_runs("worker_1").kill).start()
            while True:
                observed.aggregate(np.ones((24, WIDTH), np.int16))

    with pytest.raises(SimulationError) as caught:
        aggregate_until_a_worker_is_killed()
    assert caught.value.line.startswith("worker 1: ")
    assert set(simulations()) <= before


def test_an_aggregation_that_does_not_end_fails_in_all_parts(tmp_path):
    """The line is that of the whole, and so are the cycles that it took."""
    links, seen = LinkSettings(latency=2, drop=1.0), []
    for most in (0, 2):
        how = links, most
        with aggregators(tmp_path / str(most), TINY, *how, timeout=20) as (network, observed, _):
            with pytest.raises(RunFailed, match=r"worker \d does not end the aggregation") as why:
                observed.aggregate(np.ones((24, WIDTH), np.int16))
            seen.append((str(why.value), network.counters(details=True)))
    assert seen[0] == seen[1]


def session(folder, processes, latency):
    """Train in two racks with two spines on bad links; return weights, figures and counters."""
    requested = GcnWorkload(
        data=str(saved(folder, problem(True))),
        workers=4,
        racks=2,
        spines=2,
        hidden=3,
        epochs=1,
        labels=5,
        link_latency=latency,
        processes=processes,
        **{name: getattr(BAD, name) for name in ("drop", "duplicate", "reorder", "displacement")},
    )
    item = GcnSession(GnnSwitchParams(**PRESETS["tiny"] | {"ports": 4}), requested)
    result = item.run(item.simulator(), folder / f"run_{processes}")
    assert result.exact
    weights = [each.tolist() for each in item.comparison.switch.weights]
    return weights, result.figures, item.hardware_counters


@pytest.mark.long
@pytest.mark.parametrize("latency", [5, 130])
@pytest.mark.parametrize("processes", [2, 5])
def test_weights_of_a_training_are_those_of_the_whole(tmp_path, processes, latency):
    assert session(tmp_path, processes, latency) == session(tmp_path, 1, latency)


@pytest.mark.long
def test_one_worker_has_waves(tmp_path):
    with changed({WAVES: "1"}):
        builds = build_parts(TINY, waves_worker=1)
    assert [build.traced for build in builds.parts] == [False, True, False, False]
    assert builds.traced


def test_what_is_cut():
    with pytest.raises(ValueError, match="several processes need links of at least 2 cycles"):
        GcnWorkload(processes=2, link_latency=1)
    with pytest.raises(ValueError, match="waves_worker must be below the 2 workers: 2"):
        GcnWorkload(workers=2, waves_worker=2)
    assert GcnWorkload(processes=3, workers=1).at_a_time == 1
    assert GcnWorkload(processes=3, adder=Adder.GOLDEN).at_a_time == 1
    assert GcnWorkload(workers=CUT_WORKERS - 1, link_latency=CUT_LATENCY).at_a_time == 1
    assert GcnWorkload(workers=CUT_WORKERS, link_latency=CUT_LATENCY - 1).at_a_time == 1
    assert GcnWorkload(processes=3).at_a_time == 3
    params = GnnSwitchParams(**PRESETS["small"])
    cut = GcnSession.hardware(params, GcnWorkload(processes=2, workers=2, waves_worker=1))
    assert isinstance(cut, Cut)
    assert cut.waves_worker == 1
