"""Runs without Python, and compares the count of an epoch's cycles with the formula."""

import numpy as np
import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.p4sgd.bench import cycles
from sim.p4sgd.bench.cycles import (
    Epoch,
    compare,
    epoch_row,
    ideal_cycles,
    turnaround,
    workload,
)
from sim.p4sgd.bench.replay import (
    FREE_RUNNING,
    looked_at,
    model_writes,
    read_replay,
    register_writes,
    replay,
)
from sim.p4sgd.train import build_worker
from sim.p4sgd.training import DoesNotFit

TINY = WorkerParams(engines=1, engine=EngineParams(lanes=32, chunks=64, fifo_words=512))
CHUNKS = 60


@pytest.fixture(scope="module")
def simulator():
    return build_worker(TINY, second_main=FREE_RUNNING)


def test_ideal_cycles():
    # Two mini-batches of three micro-batches of 10 words.
    assert ideal_cycles(micro_batches=6, batches=2, words=10, turnaround=30, update_loop=5) == 2 * (
        3 * 10 + 30
    )
    # The update loop is longer than four words.
    short = ideal_cycles(micro_batches=6, batches=2, words=4, turnaround=30, update_loop=5)
    assert short == 2 * (3 * 5 + 30)


def test_deviation_counts_both_ways():
    assert Epoch(97, 100).deviation == pytest.approx(0.03)
    assert Epoch(103, 100).deviation == pytest.approx(0.03)
    assert not epoch_row("it", Epoch(96, 100), limited=True).holds
    assert not epoch_row("it", Epoch(104, 100), limited=True).holds
    assert epoch_row("it", Epoch(98, 100), limited=True).holds
    assert epoch_row("it", Epoch(150, 100), limited=False).holds


def test_epoch_is_within_three_per_cent_of_the_formula(simulator):
    found = turnaround(TINY, simulator)
    assert 0 < found <= cycles.MOST_TURNAROUND.bound
    epoch = compare(TINY, simulator, features=CHUNKS * 32, turnaround=found, samples=128)
    assert epoch.ideal == 16 * CHUNKS * 4 + 2 * found
    assert epoch.deviation <= 0.03
    assert epoch_row("it", epoch, limited=True).holds


def test_replay_does_the_whole_run(simulator, tmp_path):
    training = workload(TINY, CHUNKS * 32, samples=72, batch=24, epochs=2)
    found = replay(training, simulator, tmp_path)
    words = 2 * training.micro_batches * CHUNKS * 4
    assert found.counters["micro_batches"] == 2 * 9
    assert found.counters["words"] == words
    assert found.counters["read_errors"] == 0
    assert words < found.counters["cycles"] < found.cycles
    assert found.seconds > 0


def test_replay_refuses_a_run_that_stopped(simulator, tmp_path, monkeypatch):
    training = workload(TINY, 64, samples=24, batch=8, epochs=1)
    settings = training.settings(1) | {"label_beats": 1}
    monkeypatch.setattr(training, "settings", lambda epochs: settings)
    with pytest.raises(RuntimeError, match=r"after \d micro-batches of 3"):
        replay(training, simulator, tmp_path)


def test_replay_refuses_fewer_micro_batches():
    training = workload(TINY, 64, samples=24, batch=8, epochs=1)
    text = "\n".join(f"{address} 2" for address in looked_at(TINY)) + "\n100 0.5\n"
    with pytest.raises(RuntimeError, match="after 2 micro-batches of 3"):
        read_replay(text, training)


def test_fields_of_a_register_are_written_together():
    lines = list(register_writes(TINY, {"chunks": 5, "bits": 3, "mantissa": -1, "exponent": 9}))
    words = [int(line.split()[2], 16) for line in lines]
    assert words == [5 << 5 | 3, 9 << 18 | (1 << 18) - 1]


def test_model_is_written_in_beats_of_eight():
    model = np.arange(2 * 32, dtype=np.int32).reshape(1, 2, 32) - 1
    lines = [line.split() for line in model_writes(TINY, model)]
    assert [int(address, 16) for _, address, *_ in lines] == list(range(0, 256, 32))
    assert lines[0][2:4] == ["ffffffff", "0"]
    assert [int(line[-1], 16) for line in lines] == list(range(6, 64, 8))


def test_workload_must_fit():
    with pytest.raises(DoesNotFit):
        workload(TINY, 65 * 32, samples=8, batch=8, epochs=1)
