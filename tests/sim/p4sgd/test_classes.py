"""Trains several classes in one pass over the data: each on the RTL as if it were alone."""

from itertools import pairwise

import numpy as np
import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.choices import Loss, Schedule
from sim.p4sgd.estimator import load_estimator
from sim.p4sgd.golden.formula import Machine
from sim.p4sgd.reference import Reference
from sim.p4sgd.train import build_cluster, build_worker, simulate_training
from sim.p4sgd.training import TrainingRun, data_of
from sim.p4sgd.training_job import NetworkSettings
from sim.p4sgd.training_report import Comparison
from sim.p4sgd.training_session import TrainingSession, ideal_cycles
from sim.p4sgd.training_workload import TrainingWorkload
from sim.p4sgd.worker_side import capacity
from sim.workloads.files import InputError
from tests.sim.p4sgd.trained import trained

ENGINE = EngineParams(lanes=16, chunks=8, fifo_words=64)
ONE_DIE = WorkerParams(engines=6, classes=6, engine=ENGINE)
#: a set of engines on each die, and labels of half a beat
TWO_DIES = WorkerParams(
    engines=6,
    classes=3,
    slrs=2,
    engine=EngineParams(banks=4, lanes=16, chunks=8, fifo_words=64, data_parallel=True),
)
PRIMES = [2, 3, 5, 7, 11]


def blobs(rng, samples, features, labels):
    """Draw samples around a centre for each label, so close that classes overlap."""
    y = rng.choice(labels, samples)
    centres = rng.normal(size=(max(labels) + 1, features))
    return centres[y] + 2 * rng.normal(size=(samples, features)), y


@pytest.mark.parametrize("loss", [Loss.LOGISTIC, Loss.HINGE])
def test_each_class_is_trained_as_alone(rng, loss, tmp_path):
    """Five classes are trained on hardware for six, without and with several runs of planes."""
    X, y = blobs(rng, 101, 40, PRIMES)
    stored = {} if loss is Loss.HINGE else {"stored_bits": 6}
    options = {"loss": loss, "epochs": 3, "batch": 16, "test": "0.2", "eta": 0.25, **stored}
    workload = TrainingWorkload(**options)
    session = TrainingSession(ONE_DIE, workload, data_of(workload, (X, y), 6))
    result = session.run(build_worker(ONE_DIE), tmp_path)
    assert result.exact
    session.write(tmp_path)
    weights = session.comparison.weights
    assert weights["fixed_point"].shape == weights["original"].shape == (5, 40)
    for own, label in zip(weights["fixed_point"], PRIMES, strict=True):
        alone = TrainingWorkload(**options, positive=str(label))
        data = data_of(alone, (X, y))
        assert (trained(data, **options).weights["fixed_point"] == own).all()
    estimator, order = load_estimator(tmp_path / "weights.npz"), np.random.default_rng(1)
    assert estimator.classes_.tolist() == PRIMES
    order = order.permutation(101)
    for samples, name in ((order[:81], "accuracy"), (order[81:], "test_accuracy")):
        accuracy = np.mean(estimator.predict(X[samples]) == y[samples])
        assert accuracy == result.figures[name] > 0.5
    if loss is Loss.LOGISTIC:
        assert estimator.predict_proba(X).sum(axis=1) == pytest.approx(1)
    (said,) = (line for line in session.about() if line.startswith("classes"))
    assert said == (
        "classes: each of 2, 3, 5, 7, 11 against the rest, in one pass over the data with 1 of 6"
        " engines for each (1 of 6 for nothing); a mini-batch takes 0.40 times the cycles of 6"
        " passes by all engines by the formula, and features are read once instead of 6 times; loss"
        " is the mean of all classes', accuracy that of the largest activation"
    )
    assert any("one against the rest" in line for line in session.summary(result))


@pytest.mark.parametrize("bits", [1, 7])
def test_a_micro_batch_takes_as_many_cycles_as_there_are_classes(bits, tmp_path):
    """Two sizes of a mini-batch, in as many of them, have the same turnarounds."""
    cycles, ideal = [], []
    for batch in (32, 96):
        sizes = {"samples": 4 * batch, "features": 16, "batch": batch, "bits": bits}
        workload = TrainingWorkload(data="zeros", epochs=1, **sizes)
        session = TrainingSession(ONE_DIE, workload)
        result = session.run(build_worker(ONE_DIE), tmp_path / str(batch))
        assert result.exact
        assert result.figures["micro_batches"] == 6 * 4 * batch / 8
        cycles.append(result.figures["cycles"])
        ideal.append(ideal_cycles(ONE_DIE, workload, sizes["samples"], 16))
    (measured,) = (b - a for a, b in pairwise(cycles))
    assert measured == ideal[1] - ideal[0] == 4 * 64 / 8 * max(6, bits)


@pytest.mark.parametrize("schedule", Schedule)
def test_two_workers_on_bad_links(rng, schedule, tmp_path):
    X, y = blobs(rng, 75, 150, [0, 1, 2])
    workload = TrainingWorkload(epochs=2, batch=16, workers=2, schedule=schedule, eta=0.5)
    training = TrainingRun(data_of(workload, (X, y), 3), TWO_DIES, workload)
    comparison, packets = Comparison(training), []

    def check(epoch):
        assert comparison.add(epoch).bit_exact, f"epoch {epoch.number}: {epoch.counters}"
        packets.append(epoch.counters["full_packets"])
        assert epoch.counters["retransmissions"] > 0

    simulate_training(
        training,
        build_cluster(TWO_DIES, 2),
        tmp_path,
        check,
        network=NetworkSettings(latency=20, drop=0.1, duplicate=0.1, reorder=0.1),
    )
    each = training.micro_batches * 3
    if schedule is Schedule.DATA_PARALLEL:
        each = 5 * training.chunks * 6 * 16 // 8  # mini-batches, and groups of all engines
    assert packets == [2 * each] * 2
    assert comparison.rows[-1].rtl_accuracy > 0.6


def test_the_reference_is_one_against_the_rest(rng):
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    X, y = blobs(rng, 120, 5, PRIMES)
    workload = TrainingWorkload(bias=True, l2_shift=0)
    run = TrainingRun(data_of(workload, (X, y), 6), ONE_DIE, workload)
    model = OneVsRestClassifier(LogisticRegression(C=np.inf, fit_intercept=False, max_iter=1000))
    scaled = run.quantiser.scaled(run.data.features)
    reference = Reference.fit(run)
    assert reference.accuracy == model.fit(scaled, run.data.labels).score(scaled, run.data.labels)
    assert reference.sentence.startswith(
        "scikit-learn's LogisticRegression(C=inf), one against the rest, fitted"
    )


def test_what_hardware_for_several_classes_refuses(rng):
    X, y = blobs(rng, 60, 5, PRIMES)
    for options, labels, classes, words in (
        ({}, y, 3, r"5 classes \(2, 3, 5, 7, 11\), .* trains 3 .* --set classes=5 --set engines=5"),
        ({"positive": "3"}, y, 6, r"--positive is for .* --set classes=1"),
        ({}, y * 0, 6, r"only one class \(0\)"),
        ({}, y, 1, r"name the positive one or .*; --set classes=5 --set engines=5, or a multiple"),
        ({}, np.arange(60), 1, "by --positive; hardware trains at most 16 .*; --loss linear"),
    ):
        with pytest.raises(InputError, match=words):
            data_of(TrainingWorkload(**options), (X, labels), classes)
    with pytest.raises(ValueError, match=r"logistic or the hinge loss: .* --set classes=1"):
        TrainingWorkload(loss=Loss.LINEAR).check_hardware(ONE_DIE)


def test_the_capacity_has_the_cycles_of_one_pass_and_of_many():
    rows = {row["bits"]: row for row in capacity(ONE_DIE)}
    assert rows[1]["features"] == rows[8]["features"] == 8 * 16
    assert rows[1]["cycles of one pass"] == 8
    assert rows[1]["cycles of 6 passes"] == 6 * 5
    assert (rows[8]["cycles of one pass"], rows[8]["cycles of 6 passes"]) == (64, 6 * 2 * 8)


def test_the_formula_has_the_longer_of_words_and_classes():
    machine = Machine(workers=1, engines=1, banks=8, lanes=64, bits=4, classes=10)
    assert [machine.pace(64 * chunks) for chunks in (1, 2, 3, 4)] == [10, 10, 12, 16]
    wide = Machine(workers=1, engines=1, banks=16, lanes=64, bits=4, classes=10)
    assert wide.pace(64) == 20  # activations of 16 banks take two packets, and two beats of labels
    assert machine.groups(100) == 10 * 2 * 64 // 8
