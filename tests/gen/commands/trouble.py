"""Runs the command in a process of its own, where tools are missing or die, or signals come."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from sim.harness.cache import cache_root

#: what a shell, make or Yosys would read in another way, were it in the name of a folder
STRANGE = "a b'c\"d$e;f#gé"
SECONDS = 240  #: in which all that is waited for must come
TOOLS = ("g++", "make", "perl", "python3", "sh")


def environment(folder, **changes):
    """Return all that the command needs, and nothing of this process's."""
    (folder / "tmp").mkdir(exist_ok=True)
    return {
        "PYTHONPATH": ":".join(sys.path),
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder / "tmp"),
        "INGATHER_CACHE": str(cache_root()),
        "INGATHER_OPTIMISE": "0",
        **changes,
    }


def start(folder, *arguments, stdout=subprocess.PIPE, before=lambda: None, **changes):
    """Begin a command in ``folder``, whose environment has ``changes``; call ``before`` in it."""

    def begin():
        hears_interrupts()
        before()

    return subprocess.Popen(
        [sys.executable, "-m", "gen", *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(folder, **changes),
        preexec_fn=begin,
    )


def hears_interrupts():
    """Hear SIGINT, which a shell that starts the tests in its background has had ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(process):
    """Return its exit status, and what it wrote to standard error."""
    _, errors = process.communicate(timeout=SECONDS)
    return process.returncode, errors


def until(result):
    """Return the first true value of ``result``."""
    end = time.monotonic() + SECONDS
    while not (value := result()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
    return value


def below(process, name):
    """Return the processes of that program below ``process``, if it runs."""
    assert process.poll() is None, process.stderr.read()
    try:
        children = psutil.Process(process.pid).children(recursive=True)
        return [child for child in children if child.name() == name]
    except psutil.NoSuchProcess:
        return []


def is_one_line(errors):
    """Whether that is all that a mistake may say; a bar of progress may end its own line."""
    return errors.strip().startswith("ingather: ") and errors.strip().count("\n") == 0


def left_in(folder):
    """Return what is in ``folder``, without the folder of temporary files."""
    return sorted(
        path.name for path in Path(folder).iterdir() if path.name not in ("tmp", ".cache")
    )
