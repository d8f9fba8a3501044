"""Runs, inside the simulator, many mutants from one start of it.

This is the first of cocotb's test modules. It is imported ahead of the first cycle, and does not
return in the process that was started: that one imports the tests, then forks a process for each
mutant. There the import returns, and the simulation takes its course. Starting cocotb and importing
the tests takes longer than most mutants live.
"""

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from cocotb import _shutdown

from sim.harness.declared import declared, difference
from sim.harness.results import Case, read_results

JOB = "INGATHER_MUTANTS"
CHOICE = "INGATHER_MUTANT"
PATIENCE = 3  #: a mutant may take this many times as long as none
GRACE = 0.5  #: and this many seconds more
WALL = 30  #: seconds of the clock for one of computing, on a busy machine


def serve(job: dict) -> None:
    """Fork for each mutant of ``job`` and write verdicts; return only in the children."""
    amiss = partial(difference, declared(job["modules"]), job["filter"])
    verdicts = Path(job["verdicts"])
    with verdicts.open("w") as file:
        for verdict in tried(partial(try_one, amiss=amiss), job["mutants"], job["most"]):
            if verdict is None:
                return
            file.write(json.dumps(verdict) + "\n")
            file.flush()
    os._exit(0)


def tried(
    attempt: Callable[[int, float], dict | None], mutants: Sequence[int], most: float
) -> Iterator[dict | None]:
    """Yield the verdicts on no mutant, for which ``most`` seconds are given, and on each of some.

    If a simulator has died, that on no mutant is asked for again at the end: the cause may be
    another than the mutant, such as a full disk.
    """
    whole = attempt(0, most)
    yield whole
    if whole is None or whole["outcome"] != "passed":
        return
    outcomes = []
    for number in mutants:
        verdict = attempt(number, PATIENCE * whole["seconds"] + GRACE)
        yield verdict
        if verdict is None:
            return
        outcomes.append(verdict["outcome"])
    if "crashed" in outcomes:
        yield attempt(0, most)


def try_one(number: int, most: float, *, amiss: Callable[[Sequence[Case]], str]) -> dict | None:
    """Run a mutant in a process of its own and say how it ended; None in that process.

    ``amiss`` says of cases how they differ from those that were to run.
    """
    results = Path(f"results_{number}.xml").absolute()
    child = os.fork()
    if not child:
        become(number, results, most)
        return None
    status, usage, late = wait_for(child, WALL * most)
    cases = read_results(results) if results.exists() and not late else ()
    results.unlink(missing_ok=True)
    failed = [case for case in cases if not case.passed]
    if failed:
        outcome, message = "failed", f"{failed[0].name}: {failed[0].message}"[:300]
    elif late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF):
        outcome, message = "hung", "took too long"
    elif status or not cases:
        outcome, message = "crashed", "the simulator died"
    elif left_out := amiss(cases):
        outcome, message = "crashed", left_out
    else:
        outcome, message = "passed", ""
    seconds = usage.ru_utime + usage.ru_stime
    return {"mutant": number, "outcome": outcome, "message": message, "seconds": seconds}


def wait_for(child: int, most: float) -> tuple[int, resource.struct_rusage, bool]:
    """Return status and use of ``child``, and whether it was killed after ``most`` seconds."""
    start = time.monotonic()
    pause, late = 0.001, False
    while True:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            return status, usage, late
        if not late and time.monotonic() - start > most:
            os.kill(child, signal.SIGKILL)
            late = True
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def become(number: int, results: Path, most: float) -> None:
    """Turn this process into the simulation of one mutant."""
    os.environ[CHOICE] = str(number)
    os.environ["COCOTB_RESULTS_FILE"] = str(results)
    # The threads that the simulator would wait for at its end stayed with the first process.
    _shutdown.register(lambda: os._exit(0))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, most)


if JOB in os.environ:
    serve(json.loads(Path(os.environ[JOB]).read_text()))
