"""Checks that the rows of P4SGD's benches hold what is measured to the limits."""

import numpy as np
import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.bench.limits import Limit
from sim.p4sgd.bench import cycles
from sim.p4sgd.bench.card import sizes
from sim.p4sgd.bench.cycles import (
    Epoch,
    compare,
    epoch_row,
    ideal_cycles,
    turnaround,
    workload,
)
from sim.p4sgd.bench.harness import judge_overhead
from sim.p4sgd.bench.network import (
    MAX_SWITCH,
    allreduce_rows,
    measure_switch,
    scale_out_points,
    scale_out_rows,
    switch_rows,
)
from sim.p4sgd.bench.replay import (
    FREE_RUNNING,
    looked_at,
    model_writes,
    read_replay,
    register_writes,
    replay,
)
from sim.p4sgd.host.capacity import DoesNotFit
from sim.p4sgd.reproduce.allreduce import Latencies, Order
from sim.p4sgd.reproduce.points import Measurement
from sim.p4sgd.train import build_worker

TOTAL = {"luts": 9_000, "ff": 15_000, "dsp": 512, "uram": 66, "bram18": 0}
DEPTH = {"most_levels": 5, "most_chains": 1, "most_carry": 40}


def test_an_engine_stands_beside_the_authors_engine():
    built = {row.what: row for row in sizes({"total": TOTAL, "depth": DEPTH})}
    assert all(row.holds for row in built.values())
    assert built["engine: LUT, LUTRAM, SRL"].note == "authors' RTL 26,900; paper 23,500"
    assert built["engine: FF"].note == "authors' RTL 49,500; paper 113,000"
    assert built["engine: URAM288"].note == "authors' RTL 66"


def test_an_engine_that_takes_too_much_is_reported():
    built = sizes({"total": TOTAL | {"uram": 97}, "depth": DEPTH})
    assert [row.what for row in built if not row.holds] == ["engine: URAM288"]


def result(seconds, *runs):
    items = [{"runs": [{"built": built} for built in runs]}, {"runs": []}]
    return {"seconds": seconds, "jobs": 2, "simulation_seconds": 100.0, "items": items}


def test_overhead_is_of_all_workers():
    (row,) = judge_overhead(result(55.0, False, True))
    assert row.value == 1.1
    assert row.holds
    assert row.note == "55 s with 2 jobs, 100 s in simulators, 2 items, 1 built"
    assert not judge_overhead(result(56.0))[0].holds


STALLS = {"cycles": 1000} | {f"{s}_stalls": 5 for s in ("memory", "network", "dependency", "fifo")}


def broken(rows):
    return [row.what for row in rows if not row.holds]


@pytest.mark.parametrize(
    ("cycles", "fails"),
    [
        ([40, 40], []),
        ([41, 41], ["AllReduce"]),
        ([24, 25], ["AllReduce: most - least"]),
    ],
)
def test_allreduce(cycles, fails):
    assert broken(allreduce_rows(Latencies(Order(0, 0, 1), cycles))) == fails


GOOD = {"latencies": [8, 8], "random": (800, 800), "single": (800, 800)}


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ({}, []),
        ({"latencies": [8, 9]}, ["switch: last packet to sum"]),
        ({"random": (800, 801)}, ["switch: random slots"]),
        ({"single": (800, 1600)}, ["switch: a single slot"]),
    ],
)
def test_switch(change, fails):
    assert broken(switch_rows(GOOD | change, "switch", Limit(8))) == fails


def measured(changes):
    """Return a measurement by the formula, T being 340 cycles, with ``changes`` by workers."""
    result = {}
    for point in scale_out_points():
        for each in (point, point.turnaround):
            cycles = each.ideal(340)
            if each == point:
                cycles *= changes.get(point.workers, 1)
            result[each] = Measurement(cycles, [STALLS] * point.workers)
    return result


@pytest.mark.parametrize(
    ("changes", "fails"),
    [
        ({}, []),
        ({2: 1.029}, []),
        ({2: 1.031}, ["2 workers: off the formula"]),
        ({4: 0.969}, ["4 workers: off the formula"]),
        ({8: 1.15}, ["8 workers: off the formula", "8 workers: of linear"]),
    ],
)
def test_scale_out(changes, fails):
    result = [*scale_out_rows(scale_out_points(), measured(changes))]
    assert broken(result) == fails
    assert [row.value for row in result if "waits" in row.what] == [0.5] * 4


def test_points_of_scale_out_fit():
    for point in scale_out_points():
        engine = point.hardware.engine
        words = point.machine.words(point.features)
        assert engine.fifo_words >= words + 400
        assert engine.chunks * 4 >= words


def test_a_small_switch():
    result = measure_switch(SwitchParams(ports=2, slots=16))
    assert len(result["latencies"]) == 5 * 2 * 2
    assert broken(switch_rows(result, "switch", MAX_SWITCH[1 << 15])) == []
    assert result["random"] == result["single"] == [200, 200]


TINY = WorkerParams(engines=1, engine=EngineParams(lanes=32, chunks=64, fifo_words=512))
CHUNKS = 60


@pytest.fixture(scope="module")
def simulator():
    return build_worker(TINY, second_main=FREE_RUNNING)


def test_ideal_cycles():
    sizes = {"micro_batches": 6, "batches": 2, "turnaround": 30}
    # Two mini-batches of three micro-batches of 10 words.
    assert ideal_cycles(words=10, pace=5, **sizes) == 2 * (3 * 10 + 30)
    # The update loop is longer than four words, which are all that the last micro-batch takes.
    assert ideal_cycles(words=4, pace=5, **sizes) == 2 * (2 * 5 + 4 + 30)


def test_deviation_counts_in_both_directions():
    assert Epoch(97, 100).deviation == pytest.approx(0.03)
    assert Epoch(103, 100).deviation == pytest.approx(0.03)
    assert not epoch_row("it", Epoch(96, 100), limited=True).holds
    assert not epoch_row("it", Epoch(104, 100), limited=True).holds
    assert epoch_row("it", Epoch(98, 100), limited=True).holds
    assert epoch_row("it", Epoch(150, 100), limited=False).holds


def test_epoch_is_within_three_per_cent_of_the_formula(simulator):
    result = turnaround(TINY, simulator)
    assert 0 < result <= cycles.MAX_TURNAROUND[1].bound
    epoch = compare(TINY, simulator, features=CHUNKS * 32, turnaround=result, samples=128)
    assert epoch.ideal == 16 * CHUNKS * 4 + 2 * result
    assert epoch.deviation <= 0.03
    assert epoch_row("it", epoch, limited=True).holds


def test_replay_does_the_whole_run(simulator, tmp_path):
    training = workload(TINY, CHUNKS * 32, samples=72, batch=24, epochs=2)
    result = replay(training, simulator, tmp_path)
    words = 2 * training.micro_batches * CHUNKS * 4
    assert result.counters["micro_batches"] == 2 * 9
    assert result.counters["words"] == words
    assert result.counters["read_errors"] == 0
    assert words < result.counters["cycles"] < result.cycles
    assert result.seconds > 0


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
    assert words == [5 << 6 | 3, 9 << 18 | (1 << 18) - 1]


def test_model_is_written_in_beats_of_eight():
    model = np.arange(2 * 32, dtype=np.int32).reshape(1, 2, 32) - 1
    lines = [line.split() for line in model_writes(TINY, model)]
    assert [int(address, 16) for _, address, *_ in lines] == list(range(0, 256, 32))
    assert lines[0][2:4] == ["ffffffff", "0"]
    assert [int(line[-1], 16) for line in lines] == list(range(6, 64, 8))


def test_workload_must_fit():
    with pytest.raises(DoesNotFit):
        workload(TINY, 65 * 32, samples=8, batch=8, epochs=1)
