"""Starts simulations in a process that has imported what they need, and is forked for each.

An interpreter with cocotb, NumPy, Amaranth and pytest takes several times longer to start than a
short simulation takes to run.
"""

import atexit
import json
import os
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from find_libpython import find_libpython

from sim.harness.build_tools import BuildError, cocotb_folder, execute, require_compiler
from sim.harness.cache import CHECKOUT, cached_folder, digest
from sim.harness.verilator_tool import output_of

SOURCE = Path(__file__).with_name("host.cpp")
EXCHANGE = "INGATHER_EXCHANGE"  #: environment: edges of an epoch, number of this part, of parts
SOCKETS, TURNS = "INGATHER_SOCKETS", "INGATHER_TURNS"  #: environment: descriptors of a simulation
ENDED = 75  #: exit status of a simulation that was ended because another one has failed
HEADERS = Path(sysconfig.get_path("include"))

_idle: dict[int, list["Host"]] = {}  #: hosts that no simulation runs in, by who has started them
_lock = threading.Lock()


class HostDied(RuntimeError):
    """Reports that the host of a simulation has ended before the simulation."""


@dataclass(frozen=True)
class Request:
    """Describes a simulation that is to run."""

    command: list[str]  #: the simulator, as a library, and its arguments
    folder: str  #: folder in which it works
    log: str  #: the file that its output goes to
    environment: dict[str, str]
    path: list[str]  #: where Python looks for modules
    modules: list[str]  #: modules that it may have imported before


Place = tuple[int, int]  #: number of a simulation, and of a socket in it


@dataclass(frozen=True)
class Together:
    """Describes simulations that run at the same time, as they stand, and speak to each other."""

    requests: list[Request]
    links: list[tuple[Place, Place]] = field(default_factory=list)  #: ends of each socket
    turns: int | None = None  #: most simulations that work at a time; None: as many as there are
    #: places whose other ends are elsewhere, with sockets that the host has been started with
    sockets: list[tuple[Place, int]] = field(default_factory=list)


class Host:
    """Runs a process from which simulators are forked, one at a time, for one process.

    It has ``descriptors`` of this process, too, for the simulations of one request.
    """

    def __init__(self, environment: Mapping[str, str], descriptors: Sequence[int] = ()) -> None:
        modules = os.pathsep.join([str(CHECKOUT), *sys.path])
        libraries = [str(cocotb_folder() / "libs"), environment.get("LD_LIBRARY_PATH", "")]
        self.process = subprocess.Popen(
            [str(program())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=descriptors,
            text=True,
            env={
                **environment,
                "PYTHONPATH": modules,
                "PYTHONHASHSEED": "0",  # a seed replays, whatever order a set has
                "COCOTB_TRUST_INERTIAL_WRITES": "1",  # Verilator's are; read when it is imported
                "LD_LIBRARY_PATH": os.pathsep.join(filter(None, libraries)),
            },
        )

    def simulate(self, requested: Together) -> list[int]:
        """Run simulations; return their exit statuses, negative for the number of a signal."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(asdict(requested)) + "\n")
            self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise HostDied(f"the process that simulators start in has died: {self.process.wait()}")
        return json.loads(answer)

    def lives(self) -> bool:
        """Return whether the process is still running."""
        return self.process.poll() is None

    def end(self) -> None:
        """End the process; a simulation that runs in it is killed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def libpython() -> str:
    """Return Python's shared library; raise BuildError if it or its headers are missing."""
    library = find_libpython()
    if library is None or not (HEADERS / "Python.h").exists():
        raise BuildError(
            "no shared library or no headers of Python: on Debian, apt-get install libpython3-dev"
        )
    return library


def program() -> Path:
    """Return the host's program, compiled once for this Python; raise BuildError on failure."""
    library = libpython()
    require_compiler()
    # Simulators call the operators of the host that allocate memory: -rdynamic.
    flags = ["-std=c++17", "-O1", "-rdynamic", f"-I{HEADERS}", f"-Wl,-rpath,{Path(library).parent}"]
    key = digest(SOURCE.read_text(), *flags, library, sys.version, output_of("g++", "--version"))

    def compile_it(target: Path) -> None:
        sources = [str(SOURCE), library, "-ldl"]
        execute(["g++", *flags, *sources, "-o", str(target / "host")], target)

    return cached_folder("runtime", key, compile_it)[0] / "host"


def request_of(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    log: Path,
    modules: Sequence[str] = (),
) -> Request:
    """Describe a run of a simulator, which is built as a library, in ``folder``.

    Its output is added to ``log``; ``modules`` may be imported before.
    """
    return Request(
        command=[*map(str, command)],
        folder=str(folder.absolute()),
        log=str(log.absolute()),
        environment=dict(environment),
        path=list(sys.path),
        modules=list(modules),
    )


def simulate(request: Request) -> int:
    """Run a simulator; return its exit status, as :func:`simulate_together` does."""
    return simulate_together(Together([request]))[0]


def simulate_together(requested: Together) -> list[int]:
    """Run simulators at the same time; when one fails, the others are killed.

    Returns their exit statuses, negative for the number of a signal. A host that has died is
    replaced, unless the simulation has begun: then HostDied is raised.
    """
    environment = requested.requests[0].environment
    try:
        return simulate_in(taken() or Host(environment), requested)
    except HostDied:
        logs = [Path(request.log) for request in requested.requests]
        if any(log.exists() and log.stat().st_size for log in logs):
            raise
        return simulate_in(Host(environment), requested)


def taken() -> Host | None:
    """Take an idle host of this process; return None if there is none."""
    with _lock:
        idle = _idle.setdefault(os.getpid(), [])
        while idle and not idle[-1].lives():  # somebody has killed it
            idle.pop()
        return idle.pop() if idle else None


def simulate_in(host: Host, requested: Together) -> list[int]:
    """Run simulators in ``host``, which is idle from then on; return the exit statuses."""
    try:
        statuses = host.simulate(requested)
    except BaseException:  # nobody knows what it still does
        host.end()
        raise
    with _lock:
        _idle.setdefault(os.getpid(), []).append(host)
    return statuses


@atexit.register
def end_idle() -> None:
    """End the hosts of this process in which nothing runs.

    They are killed, as a process that was forked meanwhile still has the pipe whose end they read.
    """
    for host in _idle.pop(os.getpid(), []):
        host.process.kill()
        host.end()
