"""Uses the Python API as a notebook does."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import ingather
from sim.golden.choices import Schedule


def samples(rng):
    features = rng.random((96, 40))
    return features, (features @ np.linspace(-1, 1, 40) > 0).astype(int)


def test_a_notebook(tmp_path, rng):
    X, y = samples(rng)
    X[X < 0.1] = 0
    worker = ingather.design("p4sgd-worker", preset="tiny")
    emission = worker.emit()
    assert "module worker" in emission.verilog
    assert "&lt;svg" in emission._repr_html_()
    written = worker.generate(tmp_path / "worker")
    run = worker.train(csr_array(X), y, epochs=4, batch=np.int64(16), test=0.25)
    assert run.exact
    assert run.figures["accuracy"] > 0.7
    assert run.weights.shape == (40,)
    assert "training accuracy: RTL" in str(run)
    pieces = [worker, emission, emission.top, written, run, run.result]
    assert [text for text in map(repr, pieces) if len(text) > 2000 or "\n" in text] == []

    manifest = json.loads((tmp_path / "worker/manifest.json").read_text())
    assert (manifest["design"], manifest["preset"]) == ("p4sgd-worker", "tiny")
    assert run.save(tmp_path / "run") == ["training.png", "weights.npz"]
    order = np.random.default_rng(1).permutation(96)  # as the seed of the run draws it
    for estimator in (run.estimator(), ingather.load_estimator(tmp_path / "run/weights.npz")):
        assert estimator.score(X[order[:72]], y[order[:72]]) == run.figures["accuracy"]
        assert estimator.score(X[order[72:]], y[order[72:]]) == run.figures["test_accuracy"]
    assert (estimator.coef_ == run.weights).all()


def test_lines_are_heard_and_settings_are_those_of_the_command(rng):
    heard = []
    worker = ingather.design("p4sgd-worker", "tiny")
    done = worker.train(*samples(rng), loss="hinge", epochs=2, batch=16, on_line=heard.append)
    assert [line.split()[0] for line in heard[1:]] == ["1", "2"]
    assert done.session.requested.as_json()["loss"] == "hinge"


def test_a_run_by_its_command():
    done = ingather.design("p4sgd-worker", "tiny").run(
        "train", data="zeros", samples=32, features=64, epochs=1, batch=16
    )
    assert done.figures["micro_batches"] == 4
    assert "final_loss" not in done.figures


def test_what_a_run_needs_may_be_set_as_well():
    worker = ingather.design("p4sgd-worker", "tiny", data_parallel=True)
    session = worker.find_run("train").session_class
    requested = session.workload(schedule=Schedule.DATA_PARALLEL, data="zeros", features=64)
    assert worker.needed(session, requested) == worker.params
    plain = ingather.design("p4sgd-worker", "tiny")
    assert plain.needed(session, requested) == worker.params


def test_tests_of_ones_own(tmp_path, monkeypatch):
    (tmp_path / "my_tests.py").write_text(
        "import cocotb\n\n\n@cocotb.test()\nasync def ports(dut):\n    assert len(dut.clk) == 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    engine = ingather.design("p4sgd-engine", "tiny")
    assert engine.simulate("my_tests").passed


def test_estimates(monkeypatch):
    requested = []
    monkeypatch.setattr(
        "gen.synth.synthesis.synthesise", lambda emission, *_, **__: requested.append(emission)
    )
    ingather.design("p4sgd-engine", "tiny", lanes=64).synth()
    assert requested[0].top.component.params.lanes == 64


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: ingather.design("p4sgd-workr"), "did you mean p4sgd-worker"),
        (lambda: ingather.design("p4sgd-engine", "tiny").run(), "not simulated by itself"),
        (lambda: ingather.design("p4sgd-worker", "tiy"), "did you mean tiny"),
        (lambda: ingather.design("p4sgd-worker", lanes=500), "engines x ports must be"),
        (lambda: ingather.design("p4sgd-worker").run("trian"), "has no run 'trian': train"),
        (
            lambda: ingather.design("p4sgd-worker", "tiny").run(epochs=0),
            "epochs must be from 1 to 1000000",
        ),
        (lambda: ingather.design("p4sgd-worker", "tiny").run(epoch=3), "did you mean epochs"),
        (lambda: ingather.design("p4sgd-worker", "tiny").train([[1], [2]], [0]), "must have shape"),
        (
            lambda: ingather.design("p4sgd-worker", "tiny").train([[1], [2]], [0, 1], test=Path()),
            "test samples of arrays are a share",
        ),
        (
            lambda: ingather.design("p4sgd-worker", "tiny").train([[1], [2]], [0, 1], label="y"),
            "label is for files",
        ),
        (
            lambda: ingather.design("p4sgd-switch", "tiny").train([[1]], [0]),
            "has no run 'train': it has none",
        ),
    ],
)
def test_mistakes_are_one_line(wrong, says):
    with pytest.raises((ValueError, ingather.UserError), match=says) as error:
        wrong()
    assert "\n" not in str(error.value)
