"""Measures cycles of a mini-batch in RTL: the formula's, and those of any data."""

from contextvars import copy_context
from dataclasses import replace

import numpy as np
import pytest

from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.worker import Worker
from sim.golden.choices import Loss, Schedule
from sim.p4sgd.reproduce import points
from sim.p4sgd.reproduce.points import BITS, PASSES, Point, measure, turnaround
from sim.p4sgd.reproduce.points_in_simulator import MEMORY
from sim.p4sgd.train import build_cluster, cluster_params, simulate_training
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_job import NetworkSettings
from sim.p4sgd.training_workload import TrainingWorkload
from sim.reproduce.outcomes import CLIENT
from sim.workloads.datasets import DataSet
from tests.gen.sweep.fake import FakeClient
from tests.sim.p4sgd.reproduce.figures import DATA_PARALLEL as HARDWARE

LINK = 20


def point(**changes):
    sizes = {"workers": 2, "hardware": HARDWARE, "features": 640, "batch": 32, "link_latency": LINK}
    return Point(**(sizes | changes))


@pytest.fixture(scope="module")
def measured():
    requested = [
        point(batch=batch, schedule=schedule) for batch in (16, 32) for schedule in Schedule
    ]
    said = []
    result = measure(
        [each for p in requested for each in (p, p.turnaround)],
        lambda *what: said.append(what),
    )
    assert said[0][1:] == (0, 9)
    assert said[-1][2] == 9
    return result


def stated_turnaround():
    """Sum up the cycles that components state and their own tests assert."""
    worker = Worker(HARDWARE).latencies
    names = [
        "last word in to partials",
        "partials to deltas, logistic",
        "deltas to the engines of the first die",
        "partial activation to its last frame",
        "last frame to full activation",
        "deltas to the next mini-batch's first word, with one bit",
    ]
    network = cluster_params(HARDWARE, 2).network
    # Both workers' packets come to the switch in the same cycle; one waits for the other.
    switch = Switch(network.switch).latency + network.workers - 1
    # A further bit is a cycle more each; the last word's own cycle is none without a word.
    return sum(worker[name] for name in names) + switch + 2 * LINK + BITS - 1 - 1


@pytest.mark.parametrize("batch", [16, 32])
@pytest.mark.parametrize("schedule", list(Schedule))
def test_cycles_are_the_formula_s(measured, batch, schedule):
    """T is as the parts state it, which is also what is measured as T."""
    requested = point(batch=batch, schedule=schedule)
    stated, result = stated_turnaround(), turnaround(requested, measured)
    if schedule is Schedule.DATA_PARALLEL:  # the formula's groups of weights are no whole cycles
        assert stated < result < stated + 16
        most = 0.15
    else:
        # The gate of vanilla order has a register of its own.
        assert result == stated + (schedule is Schedule.VANILLA)
        most = 0.01
    assert measured[requested].batch_cycles == pytest.approx(requested.ideal(stated), rel=most)


@pytest.mark.long
@pytest.mark.parametrize("batch", [768, 1024, 2048])
def test_the_switch_bounds_the_cycles(batch):
    """Four workers send eight packets in the five cycles of a micro-batch."""
    requested = point(workers=4, features=256, batch=batch)
    result = measure([requested, requested.turnaround], lambda *_: None)
    cycles, shown = result[requested].batch_cycles, turnaround(requested, result)
    assert cycles > 1.2 * (batch // 8 * 5 + shown)
    assert cycles == pytest.approx(requested.ideal(shown), rel=0.03)


#: a FIFO for all that is under way, or few words; and slots
FEW = {"slots": (8, 2048), "FIFO": (20, 128), "both": (8, 128)}


@pytest.mark.long
@pytest.mark.parametrize("name", FEW)
def test_few_slots_and_a_short_fifo_bound_the_cycles(name):
    """Links are long; where both are short, each waits for the other."""
    slots, words = FEW[name]
    engine = replace(HARDWARE.engine, fifo_words=words)
    hardware = replace(HARDWARE, slots=slots, engine=engine)
    requested = [
        point(hardware=hardware, batch=batch, link_latency=link)
        for batch in (128, 136, 512)
        for link in (60, 120)
    ]
    result = measure([item for each in requested for item in (each, each.turnaround)], print)
    for each in requested:
        cycles, shown = result[each].batch_cycles, turnaround(each, result)
        assert cycles > 1.1 * (each.batch // 8 * 20 + shown)
        assert cycles == pytest.approx(each.ideal(shown), rel=0.11 if name == "both" else 0.001)


class SeveralPasses(TrainingRun):
    """A point whose epoch has all passes of a measurement."""

    def settings(self, epochs, worker=0):
        return super().settings(PASSES[-1], worker)


def test_other_data_take_as_many_cycles(measured, rng, tmp_path):
    requested = point()
    shape = (requested.pass_samples, requested.features)
    data = DataSet("random", rng.random(shape), rng.integers(0, 2, shape[0]).astype(float), "")
    options = TrainingWorkload(
        eta=1.0, loss=Loss.LOGISTIC, bits=4, batch=requested.batch, epochs=1, workers=2
    )
    epochs = []
    simulate_training(
        SeveralPasses(data, HARDWARE, options),
        build_cluster(HARDWARE, 2),
        tmp_path,
        epochs.append,
        memory=MEMORY,
        network=NetworkSettings(latency=LINK),
    )
    (epoch,) = epochs
    assert np.any(epoch.weights)
    for worker, other in zip(epoch.workers, measured[requested].workers, strict=True):
        assert worker["words"] == other["words"] > 0
        assert abs(worker["cycles"] - other["cycles"]) <= 4  # hosts do not start them alike


def test_turnaround_is_measured_on_two_chunks():
    small = point(features=10_000, batch=512).turnaround
    assert (small.features, small.batch) == (2 * 2 * 64, 8)
    assert small == small.turnaround
    shared = replace(small, schedule=Schedule.DATA_PARALLEL).turnaround
    assert (shared.features, shared.batch) == (2 * 64, 16)
    assert small.machine.forward(small.features, small.batch) == 2 * BITS


def test_failure_of_a_simulation_is_heard(monkeypatch):
    def simulate(*_):
        raise RuntimeError("stuck")

    monkeypatch.setattr(points, "simulate", simulate)
    monkeypatch.setattr(points, "build_cluster", lambda *_: None)
    with pytest.raises(RuntimeError, match="stuck"):
        measure([point()], lambda *_: None)


def test_each_cluster_of_points_is_measured_by_a_worker(monkeypatch):
    monkeypatch.setattr(points, "build_cluster", lambda hardware, workers: workers)
    monkeypatch.setattr(points, "simulate", lambda built, own, _: dict.fromkeys(own, built))
    context, client, said = copy_context(), FakeClient(), []
    context.run(CLIENT.set, client)
    requested = [point(workers=1), point(workers=2), point(workers=2, batch=16)]
    result = context.run(measure, requested, lambda *progress: said.append(progress))
    assert result == dict(zip(requested, [1, 2, 2], strict=True))
    assert len(client.keys) == 2
    assert said == [("measuring", 0, 3), ("measuring", 2, 3), ("measuring", 3, 3)]
