import json
from contextlib import nullcontext

import pytest
import typer
from typer.testing import CliRunner

from gen.base.errors import UserError
from gen.commands import mutate as mutate_command
from gen.commands.mutate import mutate
from sim.cluster import dispatch
from sim.mutation import mistakes, worker
from sim.mutation.campaign import Plan
from sim.mutation.targets import all_targets
from tests.gen.sweep.fake import FakeClient

FIFO, FORK = "hdl.common.fifo.Fifo", "hdl.common.streams.Fork"


def outcome(name, fates, seed=1):
    mutants = [
        {
            "mutant": f"<{name}>: inv $add ${number}.Y[0]",
            "group": "data",
            "mode": "inv",
            "module": "fifo",
            "sources": ["hdl/common/fifo.py:3"],
            "fate": fate,
            "how": "failed",
            "message": "",
            "seconds": 0.1,
        }
        for number, fate in enumerate(fates)
    ]
    return {
        "format": 1,
        "component": name,
        "key": Plan(seed=seed).key(all_targets()[name]),
        "tests": ["tests/hdl/common/test_fifo.py"],
        "sizes": [{"module": "fifo", "top": "fifo"}],
        "mutants": mutants,
        "error": "",
        "seconds": 2.5,
    }


@pytest.fixture
def examined(monkeypatch):
    """Stand in for the simulations; return the names of what was examined."""
    names = []

    def examine_apart(target, plan, file, progress):
        names.append(target.name)
        progress("busy")
        fates = ["found"] * 9 + ["survived", "equivalent"]
        result = outcome(target.name, fates, plan.seed)
        file.write_text(json.dumps(result))
        return result

    monkeypatch.setattr(worker, "examine_apart", examine_apart)
    return names


def run(*arguments):
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(mutate)
    return CliRunner().invoke(app, ["--seeds", "1", *map(str, arguments)])


def test_report_and_resume(examined, tmp_path):
    target = tmp_path / "out"
    result = run("Fifo", FORK, "-o", target)
    assert result.exception is None
    assert examined == [FIFO, FORK]
    assert "90 %" in result.stdout
    assert "common.streams.Fork" in result.stdout
    assert f"not explained: <{FIFO}>: inv $add $9.Y[0]\n" in result.stdout
    content = json.loads((target / "mutate.json").read_text())
    assert [item["component"] for item in content["components"]] == [FIFO, FORK]
    assert content["components"][0]["percent"] == 90
    assert content["components"][0]["survivors"][0]["reason"] == ""
    assert content["below"] == []
    html = (target / "index.html").read_text()
    assert "not explained" in html
    assert "&lt;hdl.common.fifo.Fifo&gt;: inv" in html
    before = (target / "mutate.json").read_bytes(), html
    assert run("Fifo", FORK, "-o", target).exception is None
    assert examined == [FIFO, FORK]  # nothing again
    assert ((target / "mutate.json").read_bytes(), (target / "index.html").read_text()) == before
    assert run("Fifo", "-o", target).exception is None  # the other one stays in the report
    assert ((target / "mutate.json").read_bytes(), (target / "index.html").read_text()) == before
    assert run("Fifo", "-o", target, "--no-resume").exception is None
    assert run(FORK, "-o", target, "--sample", 3).exception is None
    assert examined == [FIFO, FORK, FIFO, FORK]


def test_a_cluster_gives_the_same(examined, monkeypatch, tmp_path):
    def ran(folder):
        assert run("Fifo", FORK, "-o", folder, "--scheduler", "tcp://127.0.0.1:9").exception is None
        return sorted(path.read_text() for path in folder.rglob("*.json"))

    result = run("Fifo", "-o", tmp_path / "no", "--scheduler", "tcp://127.0.0.1:9")
    assert str(result.exception) == "no scheduler answers at tcp://127.0.0.1:9"
    remote = FakeClient()
    for client in (None, remote):
        monkeypatch.setattr(mutate_command, "client_of", lambda *_, c=client: nullcontext(c))
        monkeypatch.setattr(dispatch, "listen", lambda *_: "topic")
        monkeypatch.setattr(dispatch, "tell", lambda *_: None)
        ran(tmp_path / str(client is None))
    assert ran(tmp_path / "True") == ran(tmp_path / "False")
    assert examined == [FIFO, FORK] * 2
    assert len(remote.keys) == 2


def test_seeds_are_taken_together(monkeypatch, tmp_path):
    seen = []

    def examine_apart(target, plan, file, progress):
        seen.append(plan.seed)
        fates = ["found" if number % 3 == plan.seed % 3 else "survived" for number in range(9)]
        result = outcome(target.name, [*fates, "survived"], plan.seed)
        file.write_text(json.dumps(result))
        return result

    monkeypatch.setattr(worker, "examine_apart", examine_apart)
    result = run("Fifo", "-o", tmp_path, "--seed", 4, "--seeds", 3)
    assert result.exception is None
    assert seen == [4, 5, 6]
    assert "90 %" in result.stdout
    content = json.loads((tmp_path / "mutate.json").read_text())
    assert content["plan"]["seeds"] == 3
    assert content["components"][0]["mutants"] == 10
    assert content["components"][0]["detected"] == 9
    assert run("Fifo", "-o", tmp_path, "--seed", 4, "--seeds", 2).exception is not None  # 60 %
    assert seen == [4, 5, 6]


def test_falling_short_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(
        worker, "examine_apart", lambda target, *rest: outcome(target.name, ["found", "survived"])
    )
    result = run("Fifo", "-o", tmp_path)
    assert isinstance(result.exception, UserError)
    assert str(result.exception) == (
        f"1 of 1 components fall short: {FIFO}: 50 % of data found; it must be 90 %"
    )
    assert (tmp_path / "index.html").is_file()


def test_an_error_is_tried_again(examined, tmp_path):
    file = tmp_path / "components" / f"{FIFO}.1.json"
    file.parent.mkdir()
    for error, tried in (("", 0), ("no compiler", 1)):
        file.write_text(json.dumps(outcome(FIFO, ["found"]) | {"error": error}))
        assert run("Fifo", "-o", tmp_path).exception is None
        assert len(examined) == tried


def test_mistakes(examined, tmp_path):
    (tmp_path / "file").write_text("precious")
    for arguments, text in (
        (["Fifi"], "no component 'Fifi'; the nearest are Fifo; `ingather mutate --list` lists all"),
        (["hdl.commn"], "the nearest are hdl.common, hdl.common."),
        (["UNKNOWN"], "no component 'UNKNOWN'; `ingather mutate --list` lists all "),
        (["Fifo", "-o", tmp_path / "file"], "is not a folder"),
        (["Fifo", "-o", tmp_path], "was not made by ingather"),
        (["Fifo", "-o", tmp_path / "file" / "out"], "cannot write"),
    ):
        result = run(*arguments)
        assert isinstance(result.exception, UserError), arguments
        assert text in str(result.exception)
    assert examined == []
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_names_are_listed(examined):
    names = run("--list").stdout.split()
    assert {"hdl.common", "hdl.common.fifo", "Fifo"} <= {*names}
    assert run("Fifo", "--list").stdout.split() == ["hdl.common", "hdl.common.fifo", "Fifo"]
    unknown = str(run("UNKNOWN").exception)
    assert unknown.endswith(f" {len(names)}")
    assert examined == []


def test_outside_a_checkout(monkeypatch):
    monkeypatch.setattr("sim.mutation.targets.all_targets", dict)
    with pytest.raises(UserError, match="in a checkout"):
        mutate_command.choose([])


def test_planted_mistakes(monkeypatch, tmp_path):
    def try_mistake(mistake, seed, most_seconds):
        fate = "survived" if mistake.file.endswith("axi_read_port.py") else "found"
        reported = {"name": mistake.name, "kind": mistake.kind, "file": mistake.file}
        return {**reported, "fate": fate, "how": f"seed {seed}", "seconds": 1.0}

    monkeypatch.setattr(mistakes, "try_mistake", try_mistake)
    result = run("--planted", "hdl.common.axi_write_port", "-o", tmp_path)
    assert result.exception is None
    content = json.loads((tmp_path / "planted.json").read_text())
    assert [item["fate"] for item in content["mistakes"]] == ["found"]
    result = run("--planted", "AxiReadPort", "-o", tmp_path)
    assert str(result.exception) == "1 of 1 planted mistakes are not found"
    assert "survived: hdl/common/axi_read_port.py: A late beat" in result.stdout
    result = run("--planted", "hdl.common.fifo", "-o", tmp_path)
    assert str(result.exception).startswith("no mistake is planted")
