"""Tests that no error of Yosys, and no name of a folder, ends or misleads this process."""

import os
import signal
import sys
import tempfile

import pytest

from gen.datasheet.netlist import read_netlist
from gen.emission.emit import emit
from gen.emission.yosys import Yosys, YosysError, apart
from gen.floorplan.netlist import netlists
from hdl.common.fifo import Fifo, FifoParams
from sim.coverage.nets import netlists as nets_of_texts
from sim.mutation.equivalence import changes_nothing
from sim.mutation.mutants import emission_with_sources, mutate
from tests.gen.commands.trouble import STRANGE

PARAMS = FifoParams(width=8, depth=2)


@pytest.fixture
def strange(tmp_path, monkeypatch):
    """Work in a folder, with temporary files in another, whose names Yosys would not take."""
    for folder in (tmp_path / STRANGE, tmp_path / f"{STRANGE} too"):
        folder.mkdir()
    monkeypatch.chdir(tmp_path / STRANGE)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / f"{STRANGE} too"))
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())


@pytest.mark.usefixtures("strange")
def test_all_that_runs_yosys_takes_any_path():
    emission = emit(Fifo(PARAMS))
    assert "endmodule" in emission.verilog
    assert read_netlist(emission).inputs
    assert netlists(emission.top.rtlil)[emission.top.name].cells
    assert nets_of_texts([emission.verilog])[0]["cells"]
    mutated, mutants, rtlil = mutate(
        emission_with_sources(Fifo(PARAMS)), emission.top.name, sample=4, seed=1
    )
    assert "mutant_in_force" in mutated.verilog
    changes_nothing(rtlil, mutants[0])


def command(*commands):
    return apart(lambda: Yosys().run(*commands))


@pytest.mark.parametrize(
    ("commands", "words"),
    [
        (["nonsense"], "No such command: nonsense"),
        (["read_rtlil /no/such/file"], "File `/no/such/file' not found"),
        (["hierarchy -top absent"], "Module `absent' not found"),
    ],
)
def test_an_error_is_raised_with_its_words(commands, words, capfd):
    with pytest.raises(YosysError, match=words):
        command(*commands)
    print("still here", flush=True)
    assert capfd.readouterr().out == "still here\n"


def test_a_text_that_is_wrong_is_an_error_with_its_words():
    with pytest.raises(YosysError, match="syntax error"):
        apart(lambda: Yosys().read("module module", "read_verilog"))


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "ended with SIGKILL"),
        (lambda: os._exit(7), "ended with status 7"),
        (lambda: sys.exit(7), "ended with status 1"),
    ],
)
def test_a_crash_is_an_error(end, words):
    with pytest.raises(YosysError, match=words):
        apart(end)


def test_what_the_function_raises_is_raised():
    with pytest.raises(ZeroDivisionError, match="division") as caught:
        apart(lambda: 1 // 0)
    assert "1 // 0" in caught.value.__notes__[0]


def test_what_yosys_says_is_returned_and_not_shown(capfd):
    assert "hello" in command("log hello")
    assert capfd.readouterr().out == ""
