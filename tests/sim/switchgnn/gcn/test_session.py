"""Tests sessions of graph networks: files, figures, pictures, errors, and a design's run."""

import json
import re
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import typer
from scipy.io import mmwrite
from scipy.sparse import csr_array
from typer.testing import CliRunner

from gen.base.errors import UserError
from gen.commands.run import command_of
from gen.designs.design import Design, Run
from sim.harness.session import Listener, RunFailed
from sim.switchgnn.gcn.aggregator import ExactAggregator
from sim.switchgnn.gcn.run import GcnRun
from sim.switchgnn.gcn.session import CURVES, CUT, WEIGHTS, GcnSession
from sim.switchgnn.gcn.workload import Adder, GcnWorkload
from tests.sim.switchgnn.gcn.cases import SMALL, TINY, VERTICES, owner, problem, saved


class Heard(Listener):
    def __init__(self):
        self.lines = []

    def line(self, text):
        self.lines.append(text)


def session(params=TINY, of=GcnSession, **settings):
    usual = {"hidden": 5, "epochs": 3, "labels": 5, "adder": Adder.GOLDEN}
    return of(params, GcnWorkload(**usual | settings))


def done(item, folder, listener=None):
    build = item.build(item.hardware(item.params, item.requested))
    return item.run(build, folder, listener)


@pytest.mark.parametrize(("racks", "spines"), [(2, 1), (2, 2), (4, 3)])
def test_workers_in_racks_have_the_weights_of_one(tmp_path, racks, spines):
    path = saved(tmp_path, problem(is_directed=True))
    bad = {"drop": 0.3, "duplicate": 0.3, "reorder": 0.3}
    item = session(data=str(path), **bad, racks=racks, spines=spines)
    assert f"4 workers in {racks} racks, {spines} spine" in item.title
    result = done(item, tmp_path)
    assert (result.exact, result.difference) == (True, "")
    assert result.figures["additions"] > item.training.cut.nnz * 6  # those of PARTIALs, too


@pytest.mark.parametrize("is_directed", [False, True])
def test_a_run_on_bad_links_is_exact_and_reports_all(tmp_path, is_directed):
    path = saved(tmp_path, problem(is_directed))
    bad = {"drop": 0.1, "duplicate": 0.1, "reorder": 0.2}
    item = session(data=str(path), **bad, open_turns=2, quick_plan=is_directed)
    assert item.planner.setup.quick is is_directed
    result = done(item, tmp_path, heard := Heard())
    assert (result.exact, result.difference) == (True, "")
    assert result.figures.keys() == item.counted.keys()
    assert len(heard.lines) == 1 + 4
    assert re.match(r"    3 +\d\.\d{4} +\d+\.\d%  = ", heard.lines[-1])
    assert max(len(line) for text in heard.lines for line in text.split("\n")) <= 80
    epochs = json.loads(json.dumps(result.details, allow_nan=False))["epochs"]
    assert [epoch["epoch"] for epoch in epochs] == [0, 1, 2, 3]
    assert result.figures["cycles"] == 0
    for name in ("frames", "bytes", "repeats", "turns", "additions", "rows"):
        counted = [epoch["counters"][name] for epoch in epochs]
        assert result.figures[name] == sum(counted) / 3 > 0
    cut = len(item.training.cut.tocoo().data)
    assert item.training.network.aggregations == [5, 3, 3, 5]
    assert epochs[1]["counters"]["additions"] == cut * 6  # slices of 4 lanes
    assert result.verdict.startswith("the golden switch's sums equal A X, weights those of one")
    assert set(item.write(tmp_path)) == {CURVES, CUT, WEIGHTS}
    assert all((tmp_path / name).stat().st_size > 1000 for name in (CURVES, CUT, WEIGHTS))
    with np.load(tmp_path / WEIGHTS) as weights:
        assert (weights["fixed_point_0"] == item.comparison.switch.weights[0]).all()
        assert (weights["weights_1"] * 2**24 == weights["fixed_point_1"]).all()


def test_digits_by_the_golden_switch(tmp_path):
    item = GcnSession(SMALL, GcnWorkload(epochs=2, adder=Adder.GOLDEN))
    result = done(item, tmp_path)
    assert result.exact
    assert item.title == "digits, 64 x 32 x 10, 16 bits, eta = 0.4; 4 workers, golden switch"
    assert list(item.about()) == [
        "digits: 1,797 vertices, 24,680 edges, each in both directions; 64 features, 10 classes",
        "100 vertices are trained on, 1,697 tested on",
        "4 workers: 900 edges between them, 394 vertices at their ends",
    ]
    # 4 turns of an epoch, 2 of the look at the end
    assert result.figures["turns"] == (4 * 2 + 2) / 2
    assert result.figures["additions"] == 900 * result.figures["turns"]
    assert result.figures["repeats"] == 0


def test_a_single_worker_has_no_switch(tmp_path):
    path = saved(tmp_path, problem())
    item = session(data=str(path), workers=1)
    result = done(item, tmp_path)
    assert (result.exact, "exact" in result.figures) == (None, False)
    assert result.verdict.startswith("nothing was compared with A X")
    assert result.figures["frames"] == 0
    assert item.write(tmp_path) == [CURVES, WEIGHTS]
    assert len(list(item.about())) == 2


def test_a_matrix_market_file_and_a_partition(tmp_path):
    small = problem(is_directed=True)
    mmwrite(tmp_path / "small.mtx", small.adjacency.astype(float))
    np.savez(
        tmp_path / "small.npz", features=small.features, labels=small.labels, train=small.train
    )
    np.save(tmp_path / "parts.npy", owner())
    paths = [tmp_path / "small.mtx", tmp_path / "parts.npy"]
    item = session(data=str(paths[0]), partition=str(paths[1]), adder=Adder.EXACT)
    assert item.files(item.requested) == paths
    assert " edges have no way back" in "".join(item.about())
    assert (item.training.problem.train == small.train).all()
    assert item.settings["labels"] is None  # the data say what is trained on
    assert (item.training.partition.owner == owner()).all()
    assert done(item, tmp_path).exact is None


class Wrong(ExactAggregator):
    """Adds one to a sum in its fifth aggregation."""

    def aggregate(self, features):
        self.counts["turns"] += 1
        result = super().aggregate(features)
        result[3, 0] += self.counts["turns"] == 5
        return result


class WrongSession(GcnSession):
    """A session whose adder is wrong."""

    @contextmanager
    def adder(self, simulator, folder):
        yield Wrong


def test_a_sum_that_is_wrong_is_named(tmp_path):
    item = session(of=WrongSession, data=str(saved(tmp_path, problem())))
    result = done(item, tmp_path)
    assert not result.exact
    assert result.figures["exact"] == 0
    # 4 in the first epoch; the fifth is the first of the next
    assert result.difference.startswith(
        "after epoch 1, aggregation 5: the sum of vertex 3, feature 0 is "
    )


def test_weights_that_differ_are_named(tmp_path, monkeypatch):
    shared = GcnRun.shared

    def changed(run, make):
        training = shared(run, make)
        training.weights[1] = training.weights[1].copy()
        training.weights[1][0, 0] += 1
        return training

    item = session(data=str(saved(tmp_path, problem())), workers=1)
    monkeypatch.setattr(GcnRun, "shared", changed)
    result = done(item, tmp_path)
    assert not result.exact
    first = item.training.weights[1][0, 0]
    assert result.difference == (
        f"after epoch 0, weight [0, 0] of layer 1 is {first + 1}, one worker has {first}"
    )


def test_what_came_to_nothing_is_warned_of(tmp_path):
    path = saved(tmp_path, problem())
    result = done(session(data=str(path), eta=300.0, l2_shift=0, workers=1), tmp_path)
    assert any("the loss ends at" in text and "another --eta" in text for text in result.warnings)
    assert any("features did not fit 16 bits" in text for text in result.warnings)
    assert result.figures["saturations"] > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data": "missing.npz"}, r"missing.npz: no such file"),
        ({"data": "nonsense"}, "'nonsense' is no family: digits; or the path"),
        ({"data": "missing.mtx"}, r"missing.mtx: no such file \(families: digits\)"),
        ({"data": "yelp:scale=0.001"}, "'yelp' is no family: digits; or the path"),
        ({"workers": 5}, "5 workers need 5 ports, the switch has 4"),
        ({"partition": "missing.npy"}, "missing.npy: no such file"),
        ({"labels": 41}, "class 0 has .* vertices, but labels asks for 41"),
        (
            {"params": replace(TINY, rows=2)},
            "have .* rows of 2 .* holds 2; a larger --preset",
        ),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, settings, message):
    requested = {"data": str(saved(tmp_path, problem())), "params": TINY} | settings
    with pytest.raises((UserError, ValueError), match=message) as caught:
        done(session(**requested), tmp_path)
    assert "\n" not in str(caught.value)


def test_too_many_workers_are_detected_before_anything_is_built(tmp_path):
    path = str(saved(tmp_path, problem()))
    for adder in Adder:
        with pytest.raises(UserError, match="5 workers need 5 ports, the switch has 4"):
            session(data=path, workers=5, adder=adder)


def test_a_partition_of_another_graph_is_refused(tmp_path):
    np.save(tmp_path / "short.npy", owner()[1:])
    np.save(tmp_path / "wrong.npy", owner() + 1)
    path = str(saved(tmp_path, problem()))
    for name, message in (
        ("short", f"a worker for each of {VERTICES} vertices, has {VERTICES - 1}"),
        ("wrong", "to worker 4, workers are 0 to 3"),
    ):
        with pytest.raises(UserError, match=message):
            session(data=path, partition=str(tmp_path / f"{name}.npy"))


def test_more_workers_than_vertices(tmp_path):
    few = replace(
        problem(),
        adjacency=csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], np.int8)),
        features=np.eye(3),
        labels=np.array([0, 1, 1]),
    )
    path = saved(tmp_path, few, train=np.array([True, True, False]))
    with pytest.raises(UserError, match="4 workers cannot share 3 vertices"):
        session(data=str(path))


def test_links_that_lose_nearly_all_end_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("sim.switchgnn.links.run.__kwdefaults__", {"early": 0.0, "most": 500})
    item = session(data=str(saved(tmp_path, problem())), drop=0.9)
    with pytest.raises(RunFailed, match="the turns are not over after 500 frames"):
        done(item, tmp_path)


DESIGN = Design(
    name="switch",
    about="a switch that has no component yet",
    component="nowhere:Nothing",
    params="hdl.switchgnn.switch.params:GnnSwitchParams",
    presets={"tiny": {"banks": 2, "slots": 16, "lanes": 4, "window": 4, "ports": 4}},
    preset="tiny",
    runs=[Run(command="gcn", about="Train.", session="sim.switchgnn.gcn.session:GcnSession")],
)


def test_a_design_can_name_it_as_its_run(tmp_path):
    app = typer.Typer()
    app.command()(command_of(DESIGN, DESIGN.runs[0]))
    arguments = [
        *("--data", saved(tmp_path, problem()), "--epochs", 2, "--hidden", 5, "--labels", 5),
        *(
            "--drop",
            0.1,
            "--plan",
            "multi-level",
            "--set",
            "window=8",
            "--adder",
            "golden",
            "-o",
            tmp_path / "out",
        ),
    ]
    result = CliRunner().invoke(app, [str(item) for item in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    content = json.loads((tmp_path / "out/result.json").read_text())
    assert content["exact"]
    assert content["hardware"]["window"] == 8
    assert content["workload"]["adder"] == "golden"
    assert content["workload"]["plan"] == "multi-level"
    assert len(content["epochs"]) == 3
    assert (tmp_path / "out" / CURVES).is_file()
    assert "test accuracy: workers" in result.output
    with pytest.raises(UserError, match=r"^eta must be above 0"):
        CliRunner().invoke(app, ["--eta", "0"], catch_exceptions=False)
