"""Compares training on the RTL with the golden model, bit for bit."""

from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.choices import EtaSchedule, Loss
from sim.harness.verilator import chosen_seed
from sim.p4sgd.golden.sgd import Saturations
from sim.p4sgd.train import build_worker, simulate_training
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_job import MemorySettings
from sim.p4sgd.training_report import Comparison, saturations_agree
from sim.p4sgd.training_workload import TrainingWorkload
from sim.workloads.datasets import load
from tests.hdl.p4sgd.bench import random_data
from tests.long import short_and_long, short_products

ENGINE = EngineParams(lanes=32, chunks=16, fifo_words=256)
HARDWARE = {
    "1 engine": WorkerParams(engines=1, engine=ENGINE),
    "2 engines": WorkerParams(
        engines=2, engine=EngineParams(chunks=8, fifo_words=64, l2=True, ping_pong=True)
    ),
    "4 engines": WorkerParams(engines=4, engine=ENGINE),
    "4 banks": WorkerParams(
        engines=1, engine=EngineParams(banks=4, chunks=9, fifo_words=80), prefetch_beats=64
    ),
    # As preset u280-16 on its card, but with few chunks, and lanes for four features of 64 each.
    "16 engines": WorkerParams(
        engines=16,
        slrs=3,
        engine=EngineParams(
            lanes=4, chunks=4, fifo_words=32, dsp=True, ping_pong=True, pair_sums=True
        ),
    ),
    "1 bank": WorkerParams(
        engines=1, engine=EngineParams(banks=1, lanes=256, chunks=3, fifo_words=32)
    ),
}


def random_memory(rng):
    stall = int(rng.choice([0, 20, 150]))
    return MemorySettings(
        latency=int(rng.integers(0, 300)),
        ar_stall=stall,
        r_stall=stall,
        seed=int(rng.integers(1 << 31)),
    )


def train_and_compare(training, hardware, folder, *, initial=None, memory=None):
    """Compare every epoch's weights and saturations with the golden model; return the latter."""
    golden = np.zeros(training.features, dtype=np.int64) if initial is None else initial
    total = Saturations()
    epochs = []

    def check(epoch):
        nonlocal golden, total
        golden, saturations = training.golden(golden, epoch.number)
        total = total + saturations
        epochs.append(epoch)
        different = np.flatnonzero(epoch.weights != golden)
        assert not len(different), f"epoch {epoch.number}: weights {different[:8]} differ"
        assert saturations_agree(epoch.counters, saturations), (epoch.counters, saturations)
        assert epoch.counters["micro_batches"] == training.micro_batches
        words = training.micro_batches * training.chunks * training.requested.bits
        assert epoch.counters["words"] == words * training.params.engines

    simulator = build_worker(hardware)
    with chdir(folder):  # a relative folder will do
        simulate_training(training, simulator, Path("here"), check, initial=initial, memory=memory)
    assert len(epochs) == training.requested.epochs
    return total, epochs


# Each loss and each number of bits, with and without the L2 term; the long form has the product.
SHORT = [
    ("1 engine", 1, Loss.LINEAR),
    ("1 engine", 4, Loss.LOGISTIC),
    ("2 engines", 8, Loss.HINGE),
    ("2 engines", 3, Loss.LOGISTIC),
    ("2 engines", 8, Loss.LINEAR),
]


@pytest.mark.parametrize(
    ("name", "bits", "loss"),
    short_products(["1 engine", "2 engines", "4 engines"], [1, 3, 4, 8], Loss, short=SHORT),
)
def test_weights_equal_golden(name, bits, loss, tmp_path):
    rng = np.random.default_rng([chosen_seed(), bits, len(loss), len(name)])
    hardware = HARDWARE[name]
    bits = max(bits, hardware.engine.min_bits)
    pace = hardware.engines * hardware.engine.lanes
    chunks = int(rng.choice([1, 3, 5, 7]))  # odd ones; the last one perhaps not full
    features = int(rng.integers((chunks - 1) * pace + 1, chunks * pace + 1))
    data = random_data(rng, int(rng.integers(9, 150)), features, loss, signed=bool(bits % 2))
    options = TrainingWorkload(
        loss=loss, bits=bits, batch=int(rng.choice([8, 16, 24, 64])), epochs=2, eta=0.125
    )
    training = TrainingRun(data, hardware, options)
    assert training.chunks == chunks
    train_and_compare(training, hardware, tmp_path, memory=random_memory(rng))


@pytest.mark.parametrize(
    ("signed", "loss"),
    short_products(
        [False, True],
        Loss,
        short=[(False, Loss.LOGISTIC), (True, Loss.LINEAR), (True, Loss.HINGE)],
    ),
)
def test_extremes_saturate_and_are_counted(loss, signed, tmp_path):
    rng = np.random.default_rng([chosen_seed(), len(loss), signed])
    hardware = HARDWARE["1 engine"]
    data = random_data(rng, 60, 70, loss, signed=signed, extreme=True)
    options = TrainingWorkload(loss=loss, bits=4, batch=16, epochs=2, eta=1e6)
    training = TrainingRun(data, hardware, options)
    low = -(1 << 31)
    initial = rng.choice([low, -low - 1, 0, 1], size=training.features)
    total, _ = train_and_compare(training, hardware, tmp_path, initial=initial)
    assert total.activation
    assert total.delta
    assert total.model
    if loss is Loss.LINEAR:
        assert total.derivative


def test_sixteen_engines_train_on_digits(tmp_path):
    hardware, data = HARDWARE["16 engines"], load("digits", loss=Loss.LOGISTIC)
    options = TrainingWorkload(eta=0.4, bits=4, batch=64, epochs=1)
    train_and_compare(TrainingRun(data, hardware, options), hardware, tmp_path)


@pytest.mark.parametrize("name", short_and_long(["4 banks", "1 bank"], []))
def test_fewer_banks(name, tmp_path):
    rng = np.random.default_rng([chosen_seed(), len(name)])
    hardware = HARDWARE[name]
    data = random_data(rng, 45, 200, Loss.LOGISTIC)
    training = TrainingRun(data, hardware, TrainingWorkload(eta=1.0, bits=3, batch=8, epochs=3))
    train_and_compare(training, hardware, tmp_path, memory=random_memory(rng))


@pytest.mark.parametrize(
    ("bits", "stored_bits"), short_and_long([(1, 8), (3, 8), (4, 5)], [(3, 8)])
)
def test_lower_precision_reads_fewer_planes(bits, stored_bits, tmp_path):
    rng = np.random.default_rng([chosen_seed(), bits])
    hardware = HARDWARE["1 engine"]
    data = random_data(rng, 50, 90, Loss.HINGE, signed=bits == 4)
    options = TrainingWorkload(
        eta=1.0, loss=Loss.HINGE, bits=bits, stored_bits=stored_bits, batch=16, epochs=2
    )
    train_and_compare(
        TrainingRun(data, hardware, options), hardware, tmp_path, memory=random_memory(rng)
    )


@pytest.mark.parametrize("schedule", [EtaSchedule.INVERSE, EtaSchedule.RESTARTS])
def test_schedules_of_the_learning_rate(schedule, tmp_path):
    rng = np.random.default_rng([chosen_seed(), len(schedule)])
    hardware = HARDWARE["1 engine"]
    data = random_data(rng, 60, 90, Loss.LOGISTIC)
    options = TrainingWorkload(bits=4, batch=16, epochs=6, eta_schedule=schedule, eta_period=3)
    training = TrainingRun(data, hardware, options)
    steps = [tuple(step.values()) for step in training.steps]
    assert len(set(steps)) == (6 if schedule is EtaSchedule.INVERSE else 3)
    train_and_compare(training, hardware, tmp_path)


@pytest.mark.parametrize("l2_shift", short_and_long([4, 9, 23], [9]))
def test_l2_term(l2_shift, tmp_path):
    rng = np.random.default_rng([chosen_seed(), l2_shift])
    hardware = HARDWARE["2 engines"]
    data = random_data(rng, 70, 300, Loss.LOGISTIC, signed=True)
    options = TrainingWorkload(eta=1.0, bits=5, batch=16, epochs=2, l2_shift=l2_shift)
    training = TrainingRun(data, hardware, options)
    initial = rng.integers(-(1 << 31), 1 << 31, size=training.features)
    train_and_compare(training, hardware, tmp_path, initial=initial)


DIGITS = ("digits", 4, 1.0, 0.89)
BREAST_CANCER = ("breast-cancer", 8, 4.0, 0.92)


@pytest.mark.parametrize(
    ("name", "bits", "eta", "accuracy"), short_and_long([DIGITS, BREAST_CANCER], [DIGITS])
)
def test_real_data(name, bits, eta, accuracy, tmp_path):
    hardware = HARDWARE["1 engine"]
    data = load(name, loss=Loss.LOGISTIC)
    training = TrainingRun(
        data, hardware, TrainingWorkload(bits=bits, eta=eta, batch=64, epochs=30)
    )
    comparison = Comparison(training)
    simulate_training(training, build_worker(hardware), tmp_path, comparison.add)
    last = comparison.rows[-1]
    assert not comparison.difference
    assert len(comparison.rows) == 30
    assert last.float_accuracy >= accuracy
    assert last.rtl_loss == pytest.approx(last.float_loss, rel=0.02)
    assert last.rtl_accuracy == pytest.approx(last.float_accuracy, abs=0.01)


@pytest.mark.long  # as `make run` trains it, too
def test_u280_at_full_size(tmp_path):
    """The board's preset trains as it is built, on real data with a memory that stalls."""
    hardware = WorkerParams(engine=EngineParams(dsp=True))
    training = TrainingRun(
        load("digits", loss=Loss.LOGISTIC), hardware, TrainingWorkload(eta=1.0, epochs=2)
    )
    memory = MemorySettings(latency=128, ar_stall=20, r_stall=20)
    _, epochs = train_and_compare(training, hardware, tmp_path, memory=memory)
    assert all(epoch.counters["read_errors"] == 0 for epoch in epochs)
