"""Ends everything that a command has started when the command itself is told to end.

A compiler is called by ``make``, a worker of a sweep by a process that watches it: a signal to the
command alone reaches none of them.
"""

import ctypes
import os
import secrets
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)
ADOPT_ORPHANS = 36  #: PR_SET_CHILD_SUBREAPER of prctl(2)
TMPDIR = "TMPDIR"  #: environment variable that names the folder of temporary files
POLL_SECONDS = 0.05
OWN = b"multiprocessing.resource_tracker"  #: Python's helper process; it ends by itself


class Interruption:
    """Ends all processes below this one on SIGINT and SIGTERM, while it is entered.

    The first signal also raises KeyboardInterrupt in the main thread. Processes that other threads
    start after the signal are ended too. On leaving, unfinished entries of the cache that these
    processes were writing are removed, and so is the folder of their temporary files.
    """

    def __init__(self) -> None:
        self.signal = 0  #: number of the signal that came, if one did
        self.before: dict[int, object] = {}
        self.session = f"command-{os.getpid()}-{secrets.token_hex(4)}"
        self.temporary = TemporaryFolder()

    @property
    def status(self) -> int:
        """Return the exit status that tells a shell which signal it was."""
        return 128 + (self.signal or signal.SIGINT)

    def __enter__(self) -> Self:
        from sim.harness.cache import SESSION

        if threading.current_thread() is not threading.main_thread():
            return self  # where no signal can be handled
        os.environ.setdefault(SESSION, self.session)
        self.temporary.begin()
        adopt_orphans()
        for item in SIGNALS:
            if signal.getsignal(item) is not signal.SIG_IGN:
                self.before[item] = signal.signal(item, self.handle)
        return self

    def __exit__(self, *_: object) -> None:
        from sim.harness.cache import SESSION, forget

        for item, handler in self.before.items():
            signal.signal(item, handler)  # type: ignore[arg-type]
        if os.environ.get(SESSION) == self.session:
            del os.environ[SESSION]
        if self.signal:
            end_all()
            forget(self.session)
        self.temporary.end()

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """End every process below this one, and then this command."""
        for item in self.before:  # a second signal would cut short the tidying up
            signal.signal(item, signal.SIG_IGN)
        self.signal = number
        end_all()
        threading.Thread(target=end_for_ever, daemon=True).start()
        raise KeyboardInterrupt


class TemporaryFolder:
    """Makes the folder of all temporary files of this process and of those it starts."""

    def __init__(self) -> None:
        self.folder = ""
        self.before: tuple[str | None, str | None] = (None, None)

    def begin(self) -> None:
        """Make the folder, inside that of the process that started this one."""
        self.before = os.environ.get(TMPDIR), tempfile.tempdir
        self.folder = tempfile.mkdtemp(prefix="ingather-")
        os.environ[TMPDIR] = tempfile.tempdir = self.folder

    def end(self) -> None:
        """Remove the folder with all that was left in it."""
        if not self.folder:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        provided, tempfile.tempdir = self.before
        if provided is None:
            os.environ.pop(TMPDIR, None)
        else:
            os.environ[TMPDIR] = provided


def adopt_orphans() -> None:
    """Keep processes whose parent ends below this one, so that they are found."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(ADOPT_ORPHANS, 1, 0, 0, 0)


def end_for_ever() -> None:
    """Kill processes below this one again and again, until this process ends."""
    while True:
        end_all()
        time.sleep(POLL_SECONDS)


def end_all() -> None:
    """Kill all processes below this one, and those that they start meanwhile."""
    while running := below(os.getpid()):
        for process in running:
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:  # it has ended
                continue
        time.sleep(0.001)


def below(process: int) -> list[int]:
    """Return the processes that ``process``, or any below it, has started and that still run."""
    children: dict[int, list[tuple[int, str]]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):  # it has just ended
            continue
        children.setdefault(int(parent), []).append((int(entry.name), state))
    result, waiting = [], [process]
    while waiting:
        for child, state in children.get(waiting.pop(), []):
            waiting.append(child)
            if state not in "ZX" and OWN not in command_of(child):
                result.append(child)
    return result


def command_of(process: int) -> bytes:
    """Return the command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
