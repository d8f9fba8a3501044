"""Simulates in a shell full of variables of other programs: the same tests run."""

import os
import pty
import re
import subprocess
import sys
import termios

import cocotb
import pytest

from hdl.common.streams import StreamRegister, StreamRegisterParams
from sim.harness import declared, host, streams
from sim.harness.build_tools import execute
from sim.harness.cache import CHECKOUT
from sim.harness.results import Case
from sim.harness.verilator import SimulationError, simulate

REGISTER = StreamRegister(StreamRegisterParams(shape=40))
#: variables that choose tests, libraries, flags or ways of running in cocotb, GPI, Python, make
NONSENSE = dict(
    re.findall(
        r"(\w+)=(\S+)",
        """
    COCOTB_TEST_FILTER=runs_too COCOTB_TESTCASE=runs_too COCOTB_TEST_MODULES=nowhere
    COCOTB_LIST_TESTS=1 COCOTB_MAX_FAILURES=none COCOTB_USER_COVERAGE=1
    COCOTB_RANDOM_TEST_ORDER=perhaps COCOTB_SCHEDULER_DEBUG=perhaps GPI_EXTRA=/nowhere.so:entry
    GPI_USERS=/nowhere.so,entry PYGPI_USERS=nowhere:entry LIBPYTHON_LOC=/nowhere.so
    PYTHONWARNINGS=error PYTHONOPTIMIZE=2 PYTHONMALLOC=nonsense COVERAGE=perhaps
    VERILATOR_ROOT=/nowhere MAKEFLAGS=--nonsense WAVES=1
    """,
    )
)


@cocotb.test(timeout_time=1, timeout_unit="us")
async def is_reported_nothing_of_them(dut):
    await streams.start(dut)
    assert [name for name, value in NONSENSE.items() if os.environ.get(name) == value] == []
    assert not sys.flags.optimize


@cocotb.test(timeout_time=1, timeout_unit="us")
async def runs_too(dut):
    await streams.start(dut)


@pytest.fixture
def strange_shell(monkeypatch):
    host.end_idle()  # one that was started before has another environment
    for name, value in NONSENSE.items():
        monkeypatch.setenv(name, value)


def test_all_tests_run_in_a_strange_shell(strange_shell):
    ran = simulate(REGISTER, __name__)
    assert [case.name for case in ran.tests] == ["is_reported_nothing_of_them", "runs_too"]


def test_tools_that_build_run_in_a_strange_shell(strange_shell, tmp_path):
    (tmp_path / "makefile").write_text('all:\n\ttest -z "$$WAVES$$PYTHONOPTIMIZE"\n')
    execute(["make"], tmp_path)


def test_a_run_that_leaves_tests_out_fails():
    with pytest.raises(SimulationError, match=r"1 of 2 cocotb tests did not run: is_reported_noth"):
        simulate(REGISTER, __name__, env={"COCOTB_TESTCASE": "runs_too"})


MISSING, MORE = "1 of 2 cocotb tests did not run: b", "1 cocotb tests ran that are not to: "
RAN = {"ab": "", "a": MISSING, "aab": f"{MORE}a", "ac": f"{MISSING}; {MORE}c"}


@pytest.mark.parametrize("ran", RAN)
def test_tests_are_compared_by_name_and_number(ran):
    cases = [Case(name=name, passed=True, sim_ns=1, seconds=0) for name in ran]
    assert declared.difference([("m", "a"), ("m", "b"), ("m", "c.b")], r"m\.\w$", cases) == RAN[ran]


@pytest.mark.parametrize("module", ["ingather", "pytest"])
def test_python_without_assertions_is_refused(module):
    done = subprocess.run(
        [sys.executable, "-O", "-m", module, *(["list"] if module == "ingather" else [__file__])],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (2, 4)
    (line,) = filter(None, (done.stdout + done.stderr).splitlines())
    assert "Python leaves assertions out, which check results: unset PYTHONOPTIMIZE" in line


def test_keys_of_simulators_are_the_same_in_any_terminal(tmp_path):
    """The compiler, whose words they hash, wraps and translates them."""
    code = """
from sim.harness import compile, verilate
print(verilate.Recipe((), "top", (), "", optimise=True).key, compile.tools())
"""
    terminal = pty.openpty()[1]
    termios.tcsetwinsize(terminal, (24, 211))
    german = {"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de", "HOME": str(tmp_path)}
    result = {
        subprocess.check_output([sys.executable, "-c", code], stdin=stdin, env=os.environ | changed)
        for stdin, changed in [(None, {}), (None, {"COLUMNS": "199"}), (terminal, german)]
    }
    assert len(result) == 1
