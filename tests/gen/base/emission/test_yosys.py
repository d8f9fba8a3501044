"""Tests that no error of Yosys, and no name of a folder, ends or misleads this process."""

import os
import subprocess
import sys
import tempfile

import pytest

from gen.base.emission.emit import emit
from gen.base.emission.yosys import Yosys, YosysError, apart
from gen.datasheet.netlist import read_netlist
from gen.floorplan.netlist import netlists
from hdl.common.fifo import Fifo, FifoParams
from sim.coverage.nets import netlists as nets_of_texts
from sim.mutation.equivalence import changes_nothing
from sim.mutation.mutants import emission_with_sources, mutate
from tests.gen.commands.trouble import STRANGE


def test_all_that_runs_yosys_takes_any_path(tmp_path, monkeypatch):
    (tmp_path / STRANGE).mkdir()
    monkeypatch.chdir(tmp_path / STRANGE)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / STRANGE))
    fifo = Fifo(FifoParams(shape=8, depth=2))
    emission = emit(fifo)
    assert read_netlist(emission).inputs
    assert netlists(emission.top.rtlil)[emission.top.name].cells
    assert nets_of_texts([emission.verilog])[0]["cells"]
    mutated, mutants, rtlil = mutate(emission_with_sources(fifo), emission.top.name, 4, 1)
    assert "mutant_in_force" in mutated.verilog
    changes_nothing(rtlil, mutants[0])


@pytest.mark.parametrize(
    ("work", "error", "words"),
    [
        (lambda: Yosys().run("nonsense"), YosysError, "No such command: nonsense"),
        (lambda: Yosys().run("read_rtlil /no/file"), YosysError, "File `/no/file' not found"),
        (lambda: Yosys().read("module module", "read_verilog"), YosysError, "syntax error"),
        (lambda: [Yosys().run("log hi"), os.kill(os.getpid(), 9)], YosysError, "with SIGKILL"),
        (lambda: os._exit(7), YosysError, "ended with status 7"),
        (lambda: 1 // 0, ZeroDivisionError, "division by zero"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_goes_wrong_is_raised(work, error, words, capfd):
    with pytest.raises(error, match=words):
        apart(work)
    print("still here", flush=True)
    assert capfd.readouterr().out == "still here\n"


def test_what_yosys_says_is_returned_and_not_shown(capfd):
    assert "hello" in apart(lambda: Yosys().run("log hello"))
    assert capfd.readouterr().out == ""


def test_the_symbols_of_libraries_that_are_loaded_later_stay_their_own():
    """Else the exceptions of what pybind11 has made, matplotlib's and SciPy's, would be lost."""
    code = "import sys; from gen.base.emission.yosys import native_yosys; "
    code += "flags = sys.getdlopenflags(); native_yosys(); sys.exit(flags != sys.getdlopenflags())"
    subprocess.run([sys.executable, "-c", code], check=True)
