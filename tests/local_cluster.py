"""Starts a Dask scheduler and workers, as users do on several machines."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager

from tests.gen.sweep.fake import wait_for

LOOPBACK = ("--host", "127.0.0.1", "--no-dashboard")
#: settings of a scheduler whose workers' deaths are counted by the commands alone
ONCE = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}


def started(*arguments, folder, **environment):
    """Start a part of a cluster, which knows of the shell's variables only its path."""
    paths = {"PYTHONPATH": ":".join(sys.path), "PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *map(str, arguments[1:])],
        cwd=folder,
        env={**paths, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextmanager
def cluster(folder, *workers, **settings):
    """Yield the address of a scheduler, and its processes: of itself, and one for each of
    ``workers``.

    Each worker has a folder of its own to be in, and the variables of its entry of ``workers``.
    """
    file = folder / "scheduler.json"
    listening = (*LOOPBACK, "--port", 0, "--scheduler-file", file)
    running = [started("scheduler", *listening, folder=folder, **settings)]
    try:
        wait_for(file.exists)
        for number, own in enumerate(workers):
            home = folder / f"worker-{number}"
            home.mkdir()
            near = {"INGATHER_CACHE": str(home / "cache"), **own}
            options = (*LOOPBACK, "--scheduler-file", file, "--no-nanny", "--nthreads", 1)
            running.append(started("worker", *options, folder=home, **near))
        yield json.loads(file.read_text())["address"], running
    finally:
        for process in reversed(running):
            process.kill()
        for process in running:
            process.wait(20)
