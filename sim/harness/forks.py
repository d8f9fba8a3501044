"""Forks a process for each simulation that is asked for; this is what the host (``host.cpp``) runs.

A request (:class:`~sim.harness.host.Together`) is a line of JSON on standard input; the answer is a
line of JSON with the exit statuses, negative for a signal as :mod:`subprocess` has it. What
simulations have to import is imported here, once. When a file of the project has changed since,
this process ends without an answer, and another takes its place.
"""

import json
import os
import select
import signal
import socket
import sys
from typing import Any

import _pytest.assertion
import amaranth.lib.wiring
import cocotb.regression
import numpy
import pytest

from sim.harness.host import ENDED, SOCKETS, TURNS, Request
from sim.harness.preload import preload, stale

__all__ = ["serve"]

BUFFER_BYTES = 1 << 20  #: of a socket, if the system admits it
PATIENCE_S = 3  #: after a simulation that ended because another one did, until the other ends
PATTERNS = "COCOTB_REWRITE_ASSERTION_FILES"

IMPORTED = (_pytest.assertion, amaranth.lib.wiring, cocotb.regression, numpy, pytest)


def serve() -> list[str]:
    """Fork a process for each simulation that is requested; return its command in that process.

    In the host, return nothing once the process that asks is gone, and end what runs then.
    """
    for line in sys.stdin:
        requested = json.loads(line)
        requests = [Request(**each) for each in requested["requests"]]
        if stale():
            return []
        sys.path[:] = requests[0].path
        for request in requests:
            if request.modules and preload(request.modules, request.environment.get(PATTERNS, "")):
                request.environment[PATTERNS] = ""  # cocotb has nothing to do for them
        far = [((simulation, k), end) for (simulation, k), end in requested["sockets"]]
        sockets = sorted([*connections(requested["links"]), *far])
        turns = turns_of(requested["turns"])
        children = []
        for number, request in enumerate(requests):
            child = os.fork()
            if child == 0:
                keep(number, request, sockets, turns)
                become(request)
                return request.command
            children.append(child)
        close([*(end for _, end in sockets), *turns])
        print(json.dumps(statuses_of(children)), flush=True)
    return []


def connections(links: list[list[list[int]]]) -> list[tuple[tuple[int, int], int]]:
    """Connect simulations by sockets; return the ends: simulation, number in it, and descriptor."""
    result = []
    for places in links:
        for (simulation, number), end in zip(places, socket.socketpair(), strict=True):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
            result.append(((simulation, number), end.detach()))
    return result


def turns_of(count: int | None) -> list[int]:
    """Return the descriptors of a pipe that holds a byte for each turn; none if all may work."""
    if count is None:
        return []
    ends = os.pipe()
    os.write(ends[1], bytes(count))
    return [*ends]


def keep(number: int, request: Request, sockets: Any, turns: list[int]) -> None:
    """Keep, in the process of a simulation, its own ends of connections."""
    own = [end for (simulation, _), end in sockets if simulation == number]
    close([end for _, end in sockets if end not in own])
    request.environment[SOCKETS] = " ".join(map(str, own))
    request.environment[TURNS] = " ".join(map(str, turns))


def close(descriptors: list[int]) -> None:
    """Close descriptors."""
    for each in descriptors:
        os.close(each)


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


def statuses_of(children: list[int]) -> list[int]:
    """Return the exit statuses of processes.

    When one has failed, the others are killed, and so are all if nobody is left to hear it. One
    that ended because another one did is no failure of its own: for some seconds the other's is
    waited for, as its connections end before it does.
    """
    running = {os.pidfd_open(child): number for number, child in enumerate(children)}
    statuses = [0] * len(children)
    patience = None
    while running:
        ready, _, _ = select.select([*running, 0], [], [], patience)
        failed = 0 in ready or not ready  # no request comes while an answer is due: input ended
        for handle in ready:
            if handle in running:
                number = running.pop(handle)
                os.close(handle)
                statuses[number] = os.waitstatus_to_exitcode(os.waitpid(children[number], 0)[1])
                failed = failed or statuses[number] not in (0, ENDED)
                patience = PATIENCE_S if statuses[number] == ENDED else patience
        if failed:
            for handle, number in running.items():
                os.kill(children[number], signal.SIGKILL)
                os.close(handle)
                os.waitpid(children[number], 0)
                statuses[number] = ENDED
            running = {}
    return statuses
