"""Runs the commands of a tutorial, as a terminal would."""

import shlex
import subprocess
import sys


def terminal(line: str) -> None:
    """Print the command ``line``, run it, and stop the tutorial if it fails.

    ``ingather`` is run with this Python, so that it need not be on PATH.
    """
    print(f"\n$ {line}", flush=True)
    program, *arguments = shlex.split(line)
    assert program == "ingather"
    subprocess.run([sys.executable, "-m", "ingather", *arguments], check=True)
