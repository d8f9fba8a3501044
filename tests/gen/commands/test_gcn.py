"""Runs ``ingather gcn`` as a user does, on the network that other tests have built."""

import json
import re

import numpy as np
import pytest
from scipy.io import mmwrite

from sim.switchgnn.gcn.session import CURVES, CUT, TRAFFIC, WEIGHTS, GcnSession
from sim.switchgnn.network.network import NetworkParams, build_network
from tests.gen.commands.running import refused, remote_and_local, running
from tests.hdl.switchgnn.network_sizes import RACKS, SIZES
from tests.sim.switchgnn.gcn.cases import VERTICES, problem, saved

TINY = ["--preset", "tiny", "--workers", 3, "--hidden", 2, "--labels", 5, "--epochs", 1]


ingather = running("gcn")


@pytest.fixture
def shared_build(monkeypatch):
    """Use the simulator of the network's tests, which has the preset's switch."""
    hardware = GcnSession.hardware

    def known(params, requested):
        built = hardware(params, requested)
        if not isinstance(built, NetworkParams):
            return built
        alike = [
            size
            for size in (SIZES["tiny"], *RACKS.values())
            if (size.switch, size.racks) == (built.switch, built.racks)
        ]
        assert len(alike) == 1
        return alike[0]

    monkeypatch.setattr(GcnSession, "hardware", staticmethod(known))
    build = GcnSession.build
    monkeypatch.setattr(
        GcnSession,
        "build",
        staticmethod(lambda of: build_network(of) if isinstance(of, NetworkParams) else build(of)),
    )


def test_trains_on_the_rtl_on_bad_links(ingather, shared_build, tmp_path):
    saved(tmp_path, problem(is_directed=True))
    bad = ["--drop", 0.3, "--duplicate", 0.3, "--reorder", 0.3, "--corrupt", 0.03]
    bad += ["--link-latency", 5, "--displacement", 60, "--open-turns", 2]
    bad += ["--background", 0.4, "--ecn"]
    status, out, err = ingather("--data", "graph.npz", "-o", "made", *TINY, *bad)
    assert (status, err) == (0, "")
    said = " ".join(out.split())
    assert "graph.npz: 40 vertices" in said
    assert len(re.findall(r"^ +\d+ +\d\.\d{4} +[\d.]+%  = ", out, re.M)) == 2
    assert "sums equal A X, weights those of one worker, bit for bit" in said
    assert "cycles of the hardware" in said
    built = tmp_path / "made"
    result = json.loads((built / "result.json").read_text())
    assert result["exact"]
    assert (result["workload"]["adder"], result["workload"]["drop"]) == ("rtl", 0.3)
    assert result["figures"]["repeats"] > 0
    counters = result["hardware_counters"]
    assert len(counters["workers"]) == len(counters["ports"]) == 3
    assert sum(worker["sent_again"] for worker in counters["workers"]) > 0
    total = {name: sum(item["counters"][name] for item in result["epochs"]) for name in ("turns",)}
    shares = counters["background_beats"] / (3 * counters["simulated_cycles"])
    assert 0.2 < shares < 0.6
    assert counters["switch"]["turns"] == total["turns"]
    for name in (CURVES, CUT, TRAFFIC):
        assert (built / name).read_bytes().startswith(b"\x89PNG")
    with np.load(built / WEIGHTS) as weights:
        assert weights["fixed_point_0"].dtype == np.int64


@pytest.mark.long
@pytest.mark.parametrize("spines", [1, 2])
def test_trains_in_racks_on_bad_links(ingather, shared_build, tmp_path, spines):
    """Weights are those of one worker, and of the same workers at one switch."""
    saved(tmp_path, problem(is_directed=True))
    usual = ["--data", "graph.npz", *TINY, "--workers", 4, "--open-turns", 2]
    bad = ["--drop", 0.3, "--duplicate", 0.3, "--reorder", 0.3, "--corrupt", 0.03]
    bad += ["--background", 0.4, "--ecn"]
    racks = ["--racks", 2, "--spines", spines, "--set", f"ports={2 + spines}"]
    status, out, err = ingather(*usual, *bad, *racks, "-o", "racks")
    assert (status, err) == (0, "")
    assert f"4 workers in 2 racks, {spines} spine" in " ".join(out.split())
    result = json.loads((tmp_path / "racks/result.json").read_text())
    assert result["exact"]
    assert result["workload"]["racks"] == 2
    assert len(result["hardware_counters"]["switches"]) == 2 + spines
    assert ingather(*usual, "--set", "ports=4", "--adder", "golden", "-o", "flat")[0] == 0
    with (
        np.load(tmp_path / "racks" / WEIGHTS) as in_racks,
        np.load(tmp_path / "flat" / WEIGHTS) as flat,
    ):
        assert all((in_racks[name] == flat[name]).all() for name in flat)


def bad_files(folder):
    small = problem()
    mmwrite(folder / "alone.mtx", small.adjacency.astype(float))
    for name, more in (
        ("short.npz", {"labels": small.labels[1:]}),
        ("nan.npz", {"features": np.where(small.labels[:, None] == 1, np.nan, small.features)}),
        ("halves.npz", {"labels": small.labels + 0.5}),
        ("graph.npz", {}),
    ):
        saved(folder, small, name, **more)
    np.savez(folder / "arrays.npz", features=small.features, labels=small.labels)
    np.save(folder / "alike.npy", np.zeros(VERTICES, int))
    np.save(folder / "few.npy", np.arange(VERTICES - 1) % 3)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--data", "nothing.npz"], "nothing.npz: no such file"),
        (
            ["--scheduler", "tcp://127.0.0.1:9", "--adder", "golden"],
            "a model of the hardware is not cut",
        ),
        (
            ["--data", "alone.mtx"],
            "[40, features]: alone.npz beside it is not there",
        ),
        (["--set", "links=1"], "links must be 0, as no other switch is there: 1"),
        (["--racks", "2"], "racks must be as many as divide the workers: 2 racks, 3 workers"),
        (["--spines", "2"], "a single rack needs no spines: 2"),
        (["--racks", "3", "--set", "links=2"], "links must be 0 or 1, as each rack's switch has"),
        (["--racks", "3", "--spines", "3"], "1 worker and 3 links to spines need 4 ports, the"),
        (["--racks", "3", "--spines", "3", "--adder", "golden"], "its leaf 3 ports, of which 3"),
        (["--racks", "3", "--set", "tables=memory"], "switches in racks have tables on chip"),
        (["--data", "arrays.npz"], "arrays.npz: has no adjacency, which scipy.sparse.save_npz"),
        (["--data", "short.npz"], "short.npz: labels must be integers [40], not int64 [39]"),
        (["--data", "nan.npz"], "nan.npz: features must be finite"),
        (["--data", "halves.npz"], "halves.npz: labels must be integers [40], not float64"),
        (["--labels", "41"], "class 0 has 15 vertices, but labels asks for 41"),
        (["--workers", "4"], "the switch has 3: take --workers 3, or a --preset with more"),
        (["--partition", "alike.npy"], "the partition cuts no edge"),
        (["--partition", "few.npy"], "few.npy: the partition must have a worker for each of 40"),
        (["--set", "rows=8"], "rows of 2 entries, the switch's memory holds 8"),
        (["--set", "window=1000"], "window"),
        (["--drop", "0.95"], "drop"),
        (["--timeout", "-1"], "timeout"),
        (["--workers", "1", "--drop", "0.1"], "a single worker has no links"),
        (["--adder", "nobody"], "nobody"),
    ],
)
def test_bad_input_is_one_line_and_status_2(ingather, tmp_path, arguments, says):
    """It is found before anything is built, and leaves nothing behind."""
    bad_files(tmp_path)
    data = [] if "--data" in arguments else ["--data", "graph.npz"]
    refused(ingather, tmp_path, (*TINY, *data, *arguments, "-o", "made"), says)


@pytest.mark.long
def test_workers_of_a_cluster_train_the_same(ingather, tmp_path):
    """Three processes of Dask simulate workers and switch; when one has left, the run ends."""
    saved(tmp_path, problem(is_directed=True))
    links = ["--data", "graph.npz", "--link-latency", 30, "--drop", 0.05]
    remote, local = remote_and_local(ingather, tmp_path, *TINY, *links, endless=("--epochs", 3000))
    assert remote == local
