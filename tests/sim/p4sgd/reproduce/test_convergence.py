"""Checks that epochs to the same loss are counted, not assumed."""

from dataclasses import replace

import numpy as np
import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.p4sgd.reproduce import convergence
from sim.p4sgd.reproduce.convergence import (
    EPOCHS,
    MOST_VALUES,
    SIZES,
    claims,
    generated,
    judged,
    paper_sized,
    samples_of,
)
from sim.p4sgd.reproduce.paper_size import Kind
from tests.sim.p4sgd.reproduce.figures import FALLING, training

SMALL = WorkerParams(engines=1, engine=EngineParams(lanes=32, chunks=16, fifo_words=256))


@pytest.mark.parametrize(
    ("rtl", "expected"),
    [
        (FALLING, True),
        ([2.0, *FALLING[:-1]], True),
        ([2.0, 2.0, *FALLING[:-2]], False),
        ([*FALLING[2:], 0.1, 0.1], False),
        ([1.0] * 8, False),
    ],
)
def test_same_epochs(rtl, expected):
    result = training(rtl, FALLING)
    assert result.target == pytest.approx(0.303)
    same, exact = claims([result])
    assert same.holds is expected
    assert exact.holds


def test_bit_exactness_is_a_claim():
    assert [claim.holds for claim in claims([training(FALLING, FALLING, False)])] == [True, False]


def test_figure_has_a_row_an_epoch(tmp_path):
    figure = judged([training(FALLING, FALLING)], 100)
    assert len(figure.rows) == 8
    figure.write(tmp_path)
    assert len((tmp_path / "convergence.csv").read_text().splitlines()) == 9


def test_as_many_samples_as_an_hour_allows():
    counts = {name: samples_of(size, EPOCHS) for name, size in SIZES.items()}
    assert counts["gisette"] == SIZES["gisette"].samples
    assert counts["rcv1"] < SIZES["rcv1"].samples
    assert counts["rcv1"] * SIZES["rcv1"].features <= MOST_VALUES
    assert samples_of(SIZES["rcv1"], 100 * EPOCHS) < counts["rcv1"]


def test_generated_data_can_be_learnt():
    size = replace(SIZES["gisette"], samples=64, features=300)
    data = generated(size, 64)
    assert data.features.shape == (64, 300)
    assert 0.1 < np.mean(data.features > 0) < 0.16
    assert 0.4 < data.labels.mean() < 0.6


@pytest.mark.parametrize(("samples", "kind"), [(96, Kind.EPOCH), (200, Kind.BATCHES)])
def test_a_file_stands_for_generated_data(tmp_path, monkeypatch, samples, kind):
    """Of a file, as many samples are taken as would be generated."""
    monkeypatch.setattr(convergence, "hardware_of", lambda _: SMALL)
    size = replace(SIZES["gisette"], samples=samples, features=40)
    monkeypatch.setattr(convergence, "samples_of", lambda *_: 96)
    draw = np.random.default_rng(1)
    np.savez(tmp_path / "own.npz", X=draw.random((96, 40)), y=np.arange(96) % 2)
    for file in (None, str(tmp_path / "own.npz")):
        result = paper_sized(size, file, 2)
        assert (result.samples, result.kind) == (96, kind)
        assert len(result.rows) == 2
        assert result.bit_exact
