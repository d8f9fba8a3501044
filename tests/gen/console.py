"""Prepares what a command prints for comparisons."""

import os
import re
import subprocess
import sys


def without_progress(text: str) -> str:
    """Return ``text`` without the lines that report the progress of a command.

    Without a terminal a command prints them once a step takes longer than .3 s; most commands do
    that on slow machines only.
    """
    return re.sub(r"^.* \.\.\. \d+ s\n", "", text, flags=re.MULTILINE)


def ingather(*arguments, cwd=None, python=(), module="gen", env=None):
    stored = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"}
    stored["SOURCE_DATE_EPOCH"] = os.environ[
        "SOURCE_DATE_EPOCH"
    ]  # pages of all tests are of one day
    return subprocess.run(
        [sys.executable, *python, "-m", module, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**stored, **(env or {})},
        timeout=300,
    )


def tree(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
