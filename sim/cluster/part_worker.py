"""Does what a worker of a Dask cluster does with its parts of a simulated system.

Workers connect each cut link between them by TCP, on the address at which Dask reaches the worker
that listens. Whoever connects must know the run's token, which Dask has carried.
"""

import hmac
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Timer
from urllib.parse import urlsplit
from zlib import decompress

from sim.harness import host
from sim.harness.background import follow
from sim.harness.cache import cache_root, unfinished_name
from sim.harness.environment import changed
from sim.harness.errors import HarnessError
from sim.harness.parts import CutRun, Part, request_of_some
from sim.harness.verilate import Build

TOKEN_BYTES = 16
CONNECT_SECONDS = 60  #: longest time until all workers of a run have connected
GREETING_SECONDS = 5
REPORT_SECONDS = 1.0
KEEP_ALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}  #: seconds, and a count

ServerAddress = tuple[str, int]  #: host and port at which a worker listens

_servers: dict[str, socket.socket] = {}  #: by the tokens of runs


class CancelledError(HarnessError):
    """Reports a run that nobody waits for any more."""


@dataclass(frozen=True)
class Share:
    """Holds what a worker must know of a run."""

    token: str
    cut_run: CutRun
    numbers: list[int]  #: of its parts
    servers: Mapping[int, ServerAddress]  #: those of the workers of all parts
    folder: str  #: where paths in parts begin, on the machine that asks
    files: Mapping[str, bytes]  #: contents, by names in that folder, compressed


def build(
    work: Callable[[list[int]], list[Build]],
    numbers: list[int],
    variables: Mapping[str, str | None],
) -> list[Build]:
    """Build parts in this machine's cache, with ``variables`` of the environment."""
    with changed(variables):
        return work(numbers)


def listen(token: str) -> ServerAddress:
    """Listen for the other workers of a run; return where."""
    from distributed import get_worker

    address = urlsplit(get_worker().address).hostname or "127.0.0.1"
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    _servers[token] = server = socket.create_server((address, 0), family=family, backlog=4096)
    unused = Timer(CONNECT_SECONDS, close, [token])
    unused.daemon = True
    unused.start()
    return server.getsockname()[:2]


def close(token: str) -> None:
    """Listen no longer, if nobody has come for a run."""
    if server := _servers.pop(token, None):
        server.close()


def simulate(share: Share) -> tuple[list[int], dict[str, bytes]]:
    """Simulate parts; return their exit statuses, and the files that they have written."""
    root = cache_root() / "runs"
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=unfinished_name("parts-"), dir=root) as name:
        folder = Path(name)
        for file, content in share.files.items():
            (folder / file).write_bytes(decompress(content))
        parts = [moved(part, share.folder, name) for part in share.cut_run.parts]
        cut_run = replace(share.cut_run, parts=parts)
        with connected(share) as sockets:
            requested = request_of_some(cut_run, share.numbers, folder, sockets)
            own = host.Host(requested.requests[0].environment, [*sockets.values()])
        statuses = supervised(own, requested, Reporter(share, folder))
        written = [path for path in folder.rglob("*") if path.is_file()]
        files = {path.relative_to(folder).as_posix(): path for path in written}
        return statuses, {k: p.read_bytes() for k, p in files.items() if k not in share.files}


def moved(part: Part, before: str, folder: str) -> Part:
    """Return a part whose simulation works in another folder than ``before``."""
    simulation = replace(
        part.simulation,
        plusargs=[word.replace(before, folder) for word in part.simulation.plusargs],
        env={name: text.replace(before, folder) for name, text in part.simulation.env.items()},
    )
    return replace(part, simulation=simulation)


def supervised(own: host.Host, requested: host.Together, report: Callable[[], None]) -> list[int]:
    """Simulate in ``own`` host, which ends with it; return exit statuses.

    It is ended before if nobody waits for the task of this thread any more.
    """
    is_awaited = task_of_this_thread()

    def look() -> None:
        report()
        if not is_awaited():
            own.process.kill()
            raise CancelledError("the run was cancelled")

    try:
        return follow(lambda: own.simulate(requested), look)
    finally:
        own.end()


def task_of_this_thread() -> Callable[[], bool]:
    """Return a function that tells whether the cluster still waits for this thread's task."""
    from distributed import Status, get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_awaited() -> bool:
        task = worker.state.tasks.get(key)
        return worker.status == Status.running and task is not None and task.state == "executing"

    return is_awaited


class Reporter:
    """Reports now and then, to whoever waits, how far parts are."""

    def __init__(self, share: Share, folder: Path) -> None:
        from distributed import get_worker

        self.worker, self.topic, self.folder, self.last = get_worker(), share.token, folder, 0.0
        parts = [share.cut_run.parts[number] for number in share.numbers]
        self.names = [f"{part.name}/{part.progress}" for part in parts if part.progress]

    def __call__(self) -> None:
        if time.monotonic() < self.last + REPORT_SECONDS:
            return
        self.last = time.monotonic()
        paths = {name: self.folder / name for name in self.names}
        texts = {name: path.read_text() for name, path in paths.items() if path.exists()}
        if texts:
            self.worker.log_event(self.topic, texts)


@contextmanager
def connected(share: Share) -> Iterator[dict[host.Place, int]]:
    """Connect links to the parts of other workers; yield a descriptor for each, by its place."""
    ends: dict[int, tuple[host.Place, host.Place]] = {}
    for number, (source, target) in enumerate(share.cut_run.links):
        if (source[0] in share.numbers) != (target[0] in share.numbers):
            ends[number] = source, target
    awaited = {k: target for k, (_, target) in ends.items() if target[0] in share.numbers}
    try:
        with ExitStack() as stack:
            sockets: dict[host.Place, socket.socket] = {}
            for number, (source, target) in ends.items():
                if number not in awaited:
                    server = share.servers[target[0]]
                    link = socket.create_connection(server, timeout=CONNECT_SECONDS)
                    sockets[source] = stack.enter_context(link)
                    link.sendall(greeting(share.token, number))
            for number, link in accepted(share.token, {*awaited}):
                sockets[awaited[number]] = stack.enter_context(link)
            for link in sockets.values():
                prepare(link)
            yield {place: link.fileno() for place, link in sockets.items()}
    except OSError as error:
        raise HarnessError(f"workers could not connect to each other: {error}") from error
    finally:
        close(share.token)


def greeting(token: str, link: int) -> bytes:
    """Return what goes ahead over a connection: the run, and the number of the link."""
    return bytes.fromhex(token) + link.to_bytes(4, "little")


def accepted(token: str, links: set[int]) -> Iterator[tuple[int, socket.socket]]:
    """Yield a connection for each of ``links``; OSError if they do not come in time."""
    server, end = _servers.get(token), time.monotonic() + CONNECT_SECONDS
    while links:
        if server is None:
            raise OSError("this worker has waited too long for its part of the run")
        server.settimeout(max(0.01, end - time.monotonic()))
        link, _ = server.accept()
        link.settimeout(GREETING_SECONDS)
        try:
            heard = link.recv(TOKEN_BYTES + 4, socket.MSG_WAITALL)
        except OSError:
            heard = b""
        number = int.from_bytes(heard[TOKEN_BYTES:], "little")
        if not hmac.compare_digest(heard, greeting(token, number)) or number not in links:
            link.close()
            continue
        links.discard(number)
        yield number, link


def prepare(link: socket.socket) -> None:
    """Let messages leave at once, and a machine that has vanished be noticed."""
    link.settimeout(None)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        link.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
