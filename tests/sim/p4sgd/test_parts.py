"""Cuts clusters into processes, a worker or the switch each: nothing differs from the whole."""

from dataclasses import replace

import pytest

from gen.designs.catalogue import find_design
from sim.golden.choices import Loss, Schedule
from sim.harness.environment import changed
from sim.harness.verilate import WAVES
from sim.p4sgd.surroundings.worker_system import memory_count
from sim.p4sgd.train import (
    TrainingStopped,
    build_cluster,
    build_parts,
    read_lines,
    simulate_training,
)
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_job import PROGRESS, MemorySettings, NetworkSettings
from sim.p4sgd.training_report import Comparison
from sim.p4sgd.training_session import TrainingSession
from sim.p4sgd.training_workload import CUT_LATENCY, CUT_WORKERS, TrainingWorkload
from tests.hdl.p4sgd.bench import random_data
from tests.sim.p4sgd.reproduce.figures import DATA_PARALLEL

HARDWARE = find_design("p4sgd-worker").params_of("tiny")
FAULTS = ("drop", "duplicate", "reorder", "corrupt")


def both(folder, rng, workers, processes, *, hardware=HARDWARE, **options):
    """Train on a whole cluster and on one in parts; return the epochs of each.

    All have the golden model's weights, whatever the links do.
    """
    rate, latency = options.pop("rate"), options.pop("latency")
    requested = TrainingWorkload(eta=1.0, batch=16, epochs=2, workers=workers, **options)
    data = random_data(rng, 60, 150, Loss.LOGISTIC)
    network = NetworkSettings(
        latency=latency, seed=int(rng.integers(1 << 31)), **dict.fromkeys(FAULTS, rate)
    )
    result = []
    for name, build in (("whole", build_cluster), ("parts", build_parts)):
        training, seen = TrainingRun(data, hardware, requested), []
        comparison = Comparison(training)

        def note(epoch, comparison=comparison, seen=seen):
            assert comparison.add(epoch).bit_exact, epoch
            seen.append(replace(epoch, weights=epoch.weights.tolist(), seconds=0, part_seconds=()))

        settings = {"network": network, "processes": processes}
        simulate_training(training, build(hardware, workers), folder / name, note, **settings)
        result.append(seen)
    return result


@pytest.mark.parametrize("longest", [2, 60])
def test_parts_are_the_whole(tmp_path, rng, longest):
    """Weights, counters of all workers and links, and cycles are equal.

    Parts meet at whole epochs: only of a cycle, with the shortest links, none hides who comes late.
    """
    latency = int(rng.integers(2, longest + 1))
    whole, parts = both(tmp_path, rng, 2, 2, rate=0.2, latency=latency)
    assert parts == whole
    assert all(sum(epoch.network[name] for epoch in whole) for name in whole[0].network)


@pytest.mark.long
@pytest.mark.parametrize("processes", [2, 5])
@pytest.mark.parametrize(
    ("workers", "options"),
    [
        (3, {"rate": 0.2, "latency": 2}),
        (4, {"rate": 0.02, "latency": 990}),
        (2, {"rate": 0.1, "latency": 30, "schedule": Schedule.VANILLA}),
        (2, {"rate": 0.1, "latency": 30, "schedule": Schedule.DATA_PARALLEL}),
    ],
)
def test_shapes(tmp_path, rng, workers, options, processes):
    shared = options.get("schedule") is Schedule.DATA_PARALLEL
    hardware = DATA_PARALLEL if shared else HARDWARE
    whole, parts = both(tmp_path, rng, workers, processes, hardware=hardware, **options)
    assert parts == whole


@pytest.mark.long
def test_a_session_stops_early_and_shows_waves_of_a_worker(tmp_path):
    """All parts end behind the same epoch, well before the last one."""
    several = {"workers": 2, "processes": 2, "waves_worker": 1}
    requested = TrainingWorkload(
        data="breast-cancer", test="0.2", epochs=300, eta=50, patience=1, **several
    )
    session = TrainingSession(HARDWARE, requested)
    with changed({WAVES: "1"}):
        builds = session.build(session.hardware(HARDWARE, requested))
    assert [build.traced for build in builds.parts] == [False, True, False]
    assert session.run(builds, tmp_path).exact
    assert [*tmp_path.glob("**/*.vcd")] == [tmp_path / "dump.vcd"]
    lines = [len(read_lines(tmp_path / part / PROGRESS)) for part in ("worker_0", "switch")]
    assert lines[0] == lines[1] < 300


def test_a_worker_that_stops_ends_all(tmp_path, rng):
    """Its memory answers wrongly; a line says so."""
    training = TrainingRun(
        random_data(rng, 60, 150, Loss.LOGISTIC), HARDWARE, TrainingWorkload(workers=2, batch=16)
    )
    memory = MemorySettings(fail_index=memory_count(HARDWARE), fail_beat=0)
    settings = {"memory": memory, "network": NetworkSettings(latency=20)}
    with pytest.raises(TrainingStopped, match="memory"):
        simulate_training(training, build_parts(HARDWARE, 2), tmp_path, print, **settings)


def test_what_is_cut():
    with pytest.raises(ValueError, match="several processes need links of at least 2 cycles"):
        TrainingWorkload(workers=2, processes=2, link_latency=1)
    with pytest.raises(ValueError, match="waves_worker must be below the 2 workers: 2"):
        TrainingWorkload(workers=2, waves_worker=2)
    assert TrainingWorkload(processes=3).at_a_time == 1
    assert TrainingWorkload(workers=CUT_WORKERS - 1).at_a_time == 1
    assert TrainingWorkload(workers=16, link_latency=CUT_LATENCY - 1).at_a_time == 1
    assert TrainingWorkload(workers=2, processes=3).at_a_time == 3
