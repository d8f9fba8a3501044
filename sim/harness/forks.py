"""Forks a process for each simulation that is asked for; this is what the host (``host.cpp``) runs.

A request (:class:`~sim.harness.host.Request`) is a line of JSON on standard input; the answer is a
line with the exit status, negative for a signal as :mod:`subprocess` has it. What simulations have
to import is imported here, once. When a file of the project has changed since, this process ends
without an answer, and another takes its place.
"""

import json
import os
import select
import signal
import sys

import _pytest.assertion
import amaranth.lib.wiring
import cocotb.regression
import numpy
import pytest

from sim.harness.host import Request
from sim.harness.preload import preload, stale

__all__ = ["serve"]

PATTERNS = "COCOTB_REWRITE_ASSERTION_FILES"

IMPORTED = (_pytest.assertion, amaranth.lib.wiring, cocotb.regression, numpy, pytest)


def serve() -> list[str]:
    """Fork a process for each request; return its command in that process.

    In the host, return nothing once the process that asks is gone, and end what runs then.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the process that asks
    for line in sys.stdin:
        request = Request(**json.loads(line))
        if stale():
            return []
        sys.path[:] = request.path
        if request.modules and preload(request.modules, request.environment.get(PATTERNS, "")):
            request.environment[PATTERNS] = ""  # cocotb has nothing to do for them
        child = os.fork()
        if child == 0:
            become(request)
            return request.command
        print(status_of(child), flush=True)
    return []


def become(request: Request) -> None:
    """Turn this process into the program that the request asks for."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    log = os.open(request.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(log)


def status_of(child: int) -> int:
    """Return the exit status of a process, which is killed if nobody is left to hear it."""
    handle = os.pidfd_open(child)
    ready, _, _ = select.select([handle, 0], [], [])
    if handle not in ready:  # nothing else comes while an answer is due: the input has ended
        os.kill(child, signal.SIGKILL)
    os.close(handle)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
