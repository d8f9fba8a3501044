"""Runs commands with --pcap: what a capture is of runs that end well, badly, or have no links."""

from contextlib import suppress
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from gen.base.errors import UserError
from gen.commands.pcap import captured
from gen.commands.run import command_of
from gen.output.consoles import Console
from sim.harness.cache import CHECKOUT
from sim.harness.session import RunFailed
from tests.sim.harness.captured_frames import read


def probed(scratch):
    """Leave what a probe writes of one frame of two bytes."""
    folder = scratch / "frames"
    folder.mkdir()
    words = [16, 7, 1 << 20, 0, 0, 1, 3, 0, 0x2211, 0, 0, 0]
    np.array(words, "<u4").tofile(folder / "top.up_0.i.open")


@pytest.mark.parametrize("stop", [None, RunFailed("it stopped"), KeyboardInterrupt()])
def test_frames_are_written_however_a_run_ends(tmp_path, stop):
    probed(tmp_path)
    target = tmp_path / "frames.pcapng"
    with suppress(RunFailed, KeyboardInterrupt), captured(tmp_path, target, Console()):
        if stop is not None:
            raise stop
    assert read(target.read_bytes()) == [("up_0.i", 28 + (4 << 52), b"\x11\x22", "outbound", [])]


def test_nothing_is_written_of_a_run_without_frames(tmp_path, capsys):
    with captured(tmp_path, tmp_path / "frames.pcapng", Console()):
        pass
    assert not [*tmp_path.iterdir()]
    assert capsys.readouterr().out == ""


def test_a_run_without_links_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(CHECKOUT / "gen/tutorials/tally")
    design = import_module("tally.descriptor").DESIGN
    app = typer.Typer()
    app.command()(command_of(design, replace(design.runs[0], links=True)))
    for place, says in (
        (tmp_path / "frames.pcapng", "--pcap needs links of RTL"),
        (tmp_path / "out/frames.pcapng", "which the results replace"),
        (tmp_path / "none/frames.pcapng", "there is no folder"),
    ):
        (tmp_path / "out").mkdir(exist_ok=True)
        arguments = ["--events", "3", "-o", str(tmp_path / "out"), "--pcap", str(place)]
        error = CliRunner().invoke(app, arguments).exception
        assert isinstance(error, UserError)
        assert says in str(error)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
