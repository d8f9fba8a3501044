"""Runs sessions of training on the smallest worker, in RTL."""

from dataclasses import replace

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from hdl.p4sgd.engine.params import EngineParams
from hdl.u280.hbm_port import READ_DEPTH
from sim.golden.choices import EtaSchedule, Schedule
from sim.harness.workload import Workload
from sim.p4sgd.engine_session import EngineSession
from sim.p4sgd.switch_session import SwitchSession, SwitchWorkload
from sim.p4sgd.train import read_lines
from sim.p4sgd.training import data_of
from sim.p4sgd.training_session import TrainingSession, ideal_cycles
from sim.p4sgd.training_workload import TrainingWorkload
from sim.surroundings.hbm_refresh import Refresh
from tests.rejects import rejects

PARAMS = find_design("p4sgd-worker").params_of("tiny")


def requested(**settings):
    return TrainingWorkload(**{"data": "zeros", "epochs": 1} | settings)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    def measured(**settings):
        sizes = {"samples": 128, "features": 200} | settings
        session = TrainingSession(PARAMS, requested(**sizes))
        build = session.build(session.hardware(PARAMS, session.requested))
        result = session.run(build, tmp_path_factory.mktemp("measured"), clock_mhz=100)
        assert result.exact
        return result.figures

    return measured


def test_counters_are_those_of_an_epoch(measured):
    result = measured(bits=3, epochs=2)
    words = 7 * 3  # chunks of 32 lanes, and bits
    assert result["micro_batches"] == 128 / 8
    assert result["words"] == 128 / 8 * words
    assert result["ideal_cycles_per_epoch"] == 128 / 8 * words
    assert result["cycles_per_epoch"] == result["cycles"] > 128 / 8 * words
    assert result["samples_per_second"] == pytest.approx(128 * 100e6 / result["cycles"])
    assert result["efficiency"] == pytest.approx(128 / 8 * words / result["cycles"])
    assert "final_loss" not in result
    assert result.keys() <= TrainingSession.counted.keys() | TrainingSession.calculated.keys()


def test_real_data_have_a_loss(measured):
    result = measured(data="digits", samples=None, bits=4, epochs=2, test="0.25")
    assert 0 < result["final_loss"] < 0.69
    assert result["accuracy"] > 0.6
    assert 0 < result["test_loss"] < 0.69
    assert result["test_accuracy"] > 0.6
    assert result["learning_rate"] == pytest.approx(0.427, rel=0.02)  # that of `ingather train`
    assert result["micro_batches"] == -(-(1797 - 449) // 8)
    assert result.keys() <= TrainingSession.counted.keys() | TrainingSession.calculated.keys()


@pytest.mark.parametrize("workers", [1, 2])
def test_early_stop_keeps_the_best_weights(workers, rng, tmp_path):
    """The test samples have the other labels, so their loss rises from the first epoch on."""
    X = rng.random((96, 40))
    y = (X[:, :20].sum(axis=1) > X[:, 20:].sum(axis=1)) ^ (np.arange(96) >= 72)
    settings = {"shuffle": False, "test": "0.25", "epochs": 400, "patience": 3, "batch": 16}
    settings |= {"workers": workers, "eta_schedule": EtaSchedule.INVERSE, "eta_period": 2}
    workload = TrainingWorkload(**settings)
    session = TrainingSession(PARAMS, workload, data_of(workload, (X, y)))
    result = session.run(session.build(session.hardware(PARAMS, workload)), tmp_path)
    rows = session.comparison.rows
    assert result.exact
    assert [row.epoch for row in rows] == [1, 2, 3, 4]
    losses = [row.rtl_test_loss for row in rows]
    assert losses == sorted(losses)
    assert result.figures["test_loss"] == losses[0]
    assert result.figures["accuracy"] == rows[0].rtl_accuracy
    assert result.details["kept_epoch"] == 1
    etas = [epoch["eta"] for epoch in result.details["epochs"]]
    assert etas == pytest.approx([session.training.eta / (1 + t / 2) for t in range(4)])
    golden = session.training.golden(np.zeros(40, dtype=np.int64))[0]
    assert (session.comparison.weights["fixed_point"] == golden).all()
    said = [*session.summary(result)]
    assert said[0] == (
        "the weights of epoch 1 are kept, whose test loss is the lowest; training stopped early,"
        " after epoch 4 of 400"
    )
    progress = read_lines(tmp_path / "progress.jsonl")
    assert 4 <= len(progress) < 400  # the simulator ended as well


def test_data_that_do_not_fit_are_refused_before_a_simulator_is_built():
    """That is known of zeros alone: others would have to be read."""
    most = 512  # features of 16 chunks of 32 lanes
    TrainingSession.check(PARAMS, requested(features=most))
    for settings, words in (
        ({"features": most + 1}, "513 features need 17 chunks"),
        ({"features": most + 1, "workers": 2, "schedule": Schedule.DATA_PARALLEL}, "no data paral"),
        ({"features": most, "batch": 12}, "batch must be a multiple of 8"),
        ({"features": most, "samples": 1 << 25}, "need 8589934592 bytes on each memory port"),
        ({"features": most, "batch": 64, "schedule": Schedule.VANILLA}, "waits in the word FIFO"),
        ({"features": 32, "batch": 1 << 19, "bits": 1}, "batch must be below 524288"),
    ):
        with pytest.raises(ValueError, match=words):
            TrainingSession.check(PARAMS, requested(**settings))
    TrainingSession.check(PARAMS, requested(features=2 * most, workers=2))
    TrainingSession.check(PARAMS, requested(features=2 * most, data="digits"))
    both = replace(PARAMS, engine=replace(PARAMS.engine, data_parallel=True))
    shared = {"workers": 2, "schedule": Schedule.DATA_PARALLEL, "features": most, "batch": 16}
    TrainingSession.check(both, requested(samples=1 << 21, **shared))
    with pytest.raises(ValueError, match="1048592 samples need"):
        TrainingSession.check(both, requested(samples=(1 << 21) + 17, **shared))


def test_tiles_are_those_of_a_model_in_memory():
    tiled = replace(PARAMS, engine=replace(PARAMS.engine, max_tile=4))
    for params, settings, words in (
        (PARAMS, {"tile": 1}, "tile is for a model in memory: .* --set max_tile=8"),
        (tiled, {"tile": 3}, "tile must be a power of two up to 4"),
        (tiled, {"tile": 8}, "tile must be a power of two up to 4"),
        (tiled, {"tile": 4, "batch": 24}, "batch must be a multiple of 32, the samples of a tile"),
        (tiled, {"schedule": Schedule.VANILLA}, "not trained in vanilla order"),
    ):
        with pytest.raises(ValueError, match=words):
            TrainingSession.check(params, requested(features=32, **settings))
    TrainingSession.check(tiled, requested(features=32, tile=4, batch=32))


def test_the_formula_needs_no_simulation():
    workload = requested(samples=100, features=200, bits=3, batch=64, turnaround=10)
    result = TrainingSession.calculate(PARAMS, workload)
    assert result == {"ideal_cycles_per_epoch": (8 + 5) * 7 * 3 + 2 * 10}
    assert TrainingSession.calculate(PARAMS, replace(workload, data="digits")) == {}
    vanilla = replace(workload, schedule=Schedule.VANILLA)
    assert ideal_cycles(PARAMS, vanilla, 64, 200) == 15 * 7 * 3 + 10


def test_hardware_of_dsp_slices_has_memory_that_is_refreshed():
    card = find_design("p4sgd-worker").params_of("u280")
    default, off, short = (requested(memory_refresh=ns) for ns in (None, 0, 100))
    assert default.refresh(PARAMS) is None is off.refresh(card)
    assert off.memory(card) == default.memory(PARAMS) == replace(off, seed=1).memory(card)
    assert default.refresh(card) == Refresh()
    assert default.memory(card, 100).fields["refresh_interval"] == 390
    assert short.refresh(PARAMS, 200) == Refresh(pause_ns=100, clock_mhz=200)
    assert "refresh_interval" not in off.memory(card).fields
    session = TrainingSession(card, requested(samples=8, features=8))
    assert session.settings["memory_refresh"] == 350
    said = [*session.about()]
    assert any(line.startswith("the memory pauses for 350 ns every 3.9 us") for line in said)
    assert not any("pauses" in line for line in TrainingSession(card, off).about())
    l2 = replace(PARAMS, engine=replace(PARAMS.engine, l2=True))
    session = TrainingSession(l2, requested(samples=8, features=8, eta=0.5, l2=0.06))
    assert (session.settings["l2"], session.settings["memory_refresh"]) == (2.0**-5 / 0.5, 0)
    bound, sizes = Refresh().delivered, (1 << 14, 1 << 16)
    fast = replace(off, batch=1 << 14)
    assert ideal_cycles(card, fast, *sizes) == (1 << 14) / 8 * 512
    slow = replace(fast, memory_refresh=None)
    assert ideal_cycles(card, slow, *sizes) == pytest.approx((1 << 14) / 8 * 512 / bound)
    assert ideal_cycles(card, slow, *sizes, clock_mhz=100) == (1 << 14) / 8 * 512


def test_a_refreshed_memory_is_slower_as_the_formula_says(measured):
    settings = {"bits": 3, "epochs": 6, "batch": 128}
    slow, fast = (measured(**settings, memory_refresh=ns) for ns in (1900, 0))
    ideal = 16 * 21 / (1 - (190 - READ_DEPTH) / 390)
    assert slow["ideal_cycles_per_epoch"] == pytest.approx(ideal)
    assert slow["cycles"] > max(ideal, fast["cycles"] + 100)
    assert slow["memory_stalls"] > fast["memory_stalls"] + 100


def test_data_parallelism_needs_hardware_of_its_own():
    assert TrainingSession.needs(requested(schedule=Schedule.DATA_PARALLEL)) == {
        "data_parallel": True
    }
    assert TrainingSession.needs(requested(workers=2)) == {}


def test_a_simulator_is_of_a_worker_or_of_a_cluster():
    def hardware(**settings):
        return TrainingSession.hardware(PARAMS, requested(**settings))

    assert hardware(bits=2) == hardware(bits=8, samples=9, batch=8)
    assert hardware().workers == 0
    assert hardware(schedule=Schedule.VANILLA).workers == 1
    assert hardware(workers=4).workers == 4


test_what_cannot_be_is_refused = rejects(
    TrainingWorkload,
    ({"workers": 17}, "workers must be from 1 to 16: 17"),
    ({"drop": 0.1}, "a single worker has no links"),
    ({"workers": 2, "drop": 1.5}, "drop must be from 0 to 1: 1.5"),
    ({"samples": 0}, "samples must be at least 1: 0"),
    ({"batch": 0}, "batch must be at least 1: 0"),
    ({"l2": 0.1, "l2_shift": 5}, "l2 and l2_shift exclude each other"),
    ({"patience": 2}, "patience needs samples that are held out: --test FILE or a fraction"),
    ({"patience": 2, "test": "0.2", "data": "zeros"}, "patience needs samples that are held out"),
    ({"eta_period": 0}, "eta_period must be at least 1: 0"),
    ({"epochs": 0}, "epochs must be from 1 to 1000000: 0"),
    ({"eta": None, "timeout": 1 << 23}, "timeout must be from 0 to 8388607: 8388608"),
    ({"memory_stall": 251}, "memory_stall must be from 0 to 250: 251"),
    ({"link_latency": 4096}, "link_latency must be from 0 to 4095: 4096"),
)


def test_what_does_not_fit_says_so():
    with pytest.raises(ValueError, match="model memory"):
        TrainingSession(PARAMS, requested(features=10_000))


def test_a_switch_takes_a_packet_a_cycle(tmp_path):
    session = SwitchSession(find_design("p4sgd-switch").params_of("tiny"), SwitchWorkload())
    build = session.build(session.hardware(session.params, session.requested))
    result = session.run(build, tmp_path, clock_mhz=250).figures
    assert 1 <= result["latency_cycles"] <= 8
    assert 0.9 < result["packets_per_cycle"] <= 1
    assert result["packets_per_second"] == result["packets_per_cycle"] * 250e6
    assert result.keys() == session.counted.keys()


def test_an_engine_takes_a_bit_of_every_lane_and_bank():
    result = EngineSession.calculate(EngineParams(banks=4, lanes=32), Workload())
    assert result == {"features_per_cycle": 128}
