"""Tests what a user reads when a tool is missing, or dies."""

import signal

import pytest

from tests.gen.commands.trouble import below, ended, is_one_line, left_in, start, until

TINY = ("--preset", "tiny")
SWEEP = """
design = "p4sgd-worker"
preset = "tiny"
metrics = ["cycles_per_epoch"]
set = {samples = 64, features = 64}
grid = {bits = [3]}
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", *TINY, "-o", "out"),
        pytest.param(
            ("spmm", *TINY, "--matrix", "queen:rows=80", "-o", "out"), marks=pytest.mark.long
        ),
        ("verify", "hdl.common.fifo", "-o", "out"),
        ("mutate", "hdl.common.fifo", "-o", "out"),
    ],
    ids=["train", "spmm", "verify", "mutate"],
)
def test_without_a_compiler_is_one_line(arguments, tmp_path):
    (tmp_path / "none").mkdir()
    status, errors = ended(start(tmp_path, *arguments, PATH=str(tmp_path / "none")))
    assert status == 2
    assert is_one_line(errors), errors
    assert "no make on PATH: on Debian, apt-get install make" in errors
    assert left_in(tmp_path) == ["none"]


def broken_make(folder):
    (folder / "bin").mkdir()
    make = folder / "bin" / "make"
    make.write_text("#!/bin/sh\necho reading\necho 'error: the disk is full'\necho more\nexit 3\n")
    make.chmod(0o755)
    return {
        "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
        "INGATHER_CACHE": str(folder / "cache"),
    }


def test_a_build_that_fails_is_one_line(tmp_path):
    status, errors = ended(start(tmp_path, "train", *TINY, "-o", "out", **broken_make(tmp_path)))
    assert status == 2
    assert is_one_line(errors), errors
    assert "make failed: error: the disk is full; all that it said: " in errors
    log = errors.split()[-1]
    with open(log) as file:
        assert file.read() == "reading\nerror: the disk is full\nmore\n"
    assert left_in(tmp_path) == ["bin", "cache"]
    assert list((tmp_path / "cache" / "scratch").iterdir()) == []


@pytest.mark.long
def test_a_point_whose_build_fails_says_why(tmp_path):
    (tmp_path / "bits.toml").write_text(SWEEP)
    process = start(tmp_path, "sweep", "bits.toml", "--jobs", "1", **broken_make(tmp_path))
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 1
    assert "1 failed, such as: make failed: error: the disk is full; all that it said:" in out
    assert errors == ""


def test_a_simulator_that_dies_is_one_line(tmp_path):
    process = start(tmp_path, "train", *TINY, "--epochs", 2000, "-o", "out")
    until(lambda: below(process, "simulation"))[0].send_signal(signal.SIGKILL)
    status, errors = ended(process)
    assert status == 2
    assert is_one_line(errors), errors
    assert "the simulator ran no test, or died: " in errors
    assert "ended by SIGKILL; its log: " in errors
    assert left_in(tmp_path) == []
    assert not list((tmp_path / "tmp").iterdir())
