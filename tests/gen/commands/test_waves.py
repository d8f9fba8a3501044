"""Runs a small design of the tutorials with --waves, to a good end and to a bad one."""

import json
from importlib import import_module

import pytest
import typer
from typer.testing import CliRunner

from gen.base.errors import UserError
from gen.cli import main
from gen.commands.run import command_of
from sim.harness.cache import CHECKOUT
from sim.harness.session import RunFailed


@pytest.fixture
def design(monkeypatch):
    monkeypatch.syspath_prepend(CHECKOUT / "gen/tutorials/tally")
    return import_module("tally.descriptor").DESIGN


def counted(design, folder, *options):
    app = typer.Typer()
    app.command()(command_of(design, design.runs[0]))
    return CliRunner().invoke(app, ["--events", "3", "-o", str(folder), *options])


def test_waves_stand_beside_the_result(design, tmp_path):
    built = tmp_path / "made"
    done = counted(design, built, "--waves")
    assert done.exit_code == 0, done.exception
    assert f"waves: gtkwave {built / 'view.gtkw'}" in done.output
    assert (built / "dump.vcd").read_text().count("\n#") > 10
    view = (built / "view.gtkw").read_text()
    assert '[dumpfile] "dump.vcd"' in view
    assert "tally.count[3:0]" in view
    files = json.loads((built / "manifest.json").read_text())["files"]
    assert {"dump.vcd", "view.gtkw"} < set(files)
    assert counted(design, built).exit_code == 0  # whose folder is ours, and has no waves any more
    assert not (built / "dump.vcd").exists()


def test_waves_of_a_run_that_fails_are_kept(design, tmp_path, monkeypatch):
    session_class = design.runs[0].session_class
    run = session_class.run

    def stop(*arguments):
        run(*arguments)
        raise RunFailed("it stopped")

    monkeypatch.setattr(session_class, "run", stop)
    scratch = tmp_path / "count"
    scratch.mkdir()
    monkeypatch.setattr("sim.harness.verilator.new_scratch", lambda name: scratch)
    error = counted(design, tmp_path / "made", "--waves").exception
    assert isinstance(error, UserError)
    stored = tmp_path / "count-waves"
    assert str(error) == f"it stopped; its waves: gtkwave {stored / 'view.gtkw'}"
    assert sorted(path.name for path in stored.iterdir()) == ["dump.vcd", "view.gtkw"]
    assert list(tmp_path.iterdir()) == [stored]


@pytest.mark.parametrize(
    "command", ["spmm --preset tiny --matrix queen:rows=80 --model", "gcn --adder exact"]
)
def test_a_model_has_no_waves(command, tmp_path, monkeypatch, capsys):
    words = ["ingather", *command.split(), "--waves", "-o", str(tmp_path / "made")]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as end:
        main()
    reported = capsys.readouterr().err
    assert (end.value.code, reported.count("\n")) == (2, 1)
    assert "--waves needs RTL, and this run is of a model" in reported
    assert not (tmp_path / "made").exists()
