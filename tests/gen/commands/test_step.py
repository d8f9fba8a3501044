"""Runs ``ingather step`` as a user does, on the system that other tests have built."""

import json

import pytest

from gen.report.gcn_section import gcn_section
from sim.network_switch.step.session import TIMELINE, StepSession
from sim.network_switch.step.system import build_step
from tests.gen.commands.running import refused, running
from tests.sim.switchgnn.gcn.cases import problem, saved

TINY = ["--preset", "tiny", "--workers", 2, "--hidden", 2, "--labels", 5, "--epochs", 1]
TINY += ["--data", "graph.npz"]

ingather = running("step")


@pytest.mark.long
def test_trains_on_a_directed_graph(ingather, tmp_path, monkeypatch):
    monkeypatch.setattr(StepSession, "build", staticmethod(build_step))
    saved(tmp_path, problem(is_directed=True))
    status, out, err = ingather(*TINY, "--drop", 0.1, "--macs", 8, "-o", "out")
    assert (status, err) == (0, "")
    lines = " ".join(out.split())
    assert "every gathered byte is the feature's, the hardware's sums equal A X" in lines
    assert "m multiply-adds of a vertex, R = 8 a cycle" in lines
    result = json.loads((tmp_path / "out/result.json").read_text())
    assert result["exact"]
    assert result["figures"]["gathered_bytes"] > 0
    assert (tmp_path / "out" / TIMELINE).read_bytes().startswith(b"\x89PNG")
    assert "gather_up_cycles" in gcn_section([("step", result)]).html


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--workers", 1], "'--workers': Input should be greater than or equal to 2"),
        (["--set", "ports=2"], "2 workers need 4 ports, as each has one for its card and one for"),
        (["--set", "switchgnn.rows=2"], "the lists have"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(ingather, tmp_path, arguments, says):
    saved(tmp_path, problem())
    refused(ingather, tmp_path, [*TINY, *arguments], says)
