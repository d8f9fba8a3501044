"""Runs ``ingather gcn`` as a user does, on the network that other tests have built."""

import json
import re

import numpy as np
import pytest
from scipy.io import mmwrite

from sim.switchgnn.gcn.session import CURVES, CUT, TRAFFIC, WEIGHTS, GcnSession
from sim.switchgnn.network.network import NetworkParams, build_network
from tests.gen.commands.running import refused, running
from tests.hdl.switchgnn.network_sizes import SIZES
from tests.sim.switchgnn.gcn.cases import VERTICES, problem, saved

TINY = ["--preset", "tiny", "--workers", 3, "--hidden", 2, "--labels", 5, "--epochs", 1]


ingather = running("gcn")


@pytest.fixture
def shared_build(monkeypatch):
    """Use the simulator of the network's tests, which has the preset's switch."""
    hardware = GcnSession.hardware

    def known(params, requested):
        built = hardware(params, requested)
        assert isinstance(built, NetworkParams)
        assert built.switch == SIZES["tiny"].switch
        return SIZES["tiny"]

    monkeypatch.setattr(GcnSession, "hardware", staticmethod(known))
    monkeypatch.setattr(GcnSession, "build", staticmethod(build_network))


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
            ["--data", "alone.mtx"],
            "[40, features]: alone.npz beside it is not there",
        ),
        (["--set", "links=1"], "links must be 0, as no other switch is there: 1"),
        (["--data", "arrays.npz"], "arrays.npz: has no adjacency, which scipy.sparse.save_npz"),
        (["--data", "short.npz"], "short.npz: labels must be integers [40], not int64 [39]"),
        (["--data", "nan.npz"], "nan.npz: features must be finite"),
        (["--data", "halves.npz"], "halves.npz: labels must be integers [40], not float64"),
        (["--labels", "41"], "class 0 has 15 vertices, but labels asks for 41"),
        (["--workers", "4"], "4 workers need 4 ports, the switch has 3"),
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
