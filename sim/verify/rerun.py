"""Runs a failed simulation once more with waves, and finds the first wrong beat."""

import contextlib
import io
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sim.harness import first_wrong
from sim.harness.build_tools import BuildError
from sim.harness.cache import CHECKOUT
from sim.harness.environment import changed
from sim.harness.failures import SimulationError, pytest_item
from sim.harness.results import Run
from sim.harness.verilator import LOG, RESULTS, Simulation, observers
from sim.verify.gtkwave import moment, write_save

__all__ = ["investigate", "replay_line"]

WAVES = "dump.vcd"
#: environment variables that are unset for a rerun, which adds to no coverage
QUIET = ("INGATHER_COVERAGE", "INGATHER_COVERAGE_RUNS")


def investigate(
    simulation: Simulation | None, run: Run, folder: Path, *, test: str = ""
) -> dict[str, Any]:
    """Run the first failed case of ``run`` again with waves; return what went wrong.

    ``test`` is pytest's name of the item, as it is to be replayed. Leaves ``log.txt``,
    ``dump.vcd`` of that case alone, and ``view.gtkw``, which opens them at the wrong beat.
    Returns ``case``, ``first_wrong``, ``reproduced``, ``replay``, and the paths ``log``, ``waves``
    and ``gtkw``, which are None for what could not be made; ``note`` says why.
    """
    case = run.failures[0].name if run.failures else ""
    before = record_of(run.folder, case)
    result: dict[str, Any] = {
        "case": case,
        "first_wrong": before.get("first_wrong"),
        "reproduced": False,
        "replay": replay_line(test or pytest_item() or module_of(simulation), case, run.seed),
        "log": existing(run.folder / LOG),
        "waves": None,
        "gtkw": None,
        "note": "",
    }
    if simulation is None:
        return result | {"note": "not run again: it was not started by simulate()"}
    try:
        failed = rerun(simulation, case, run.seed, folder) is not None
    except BuildError as error:
        return result | {"note": "not run again: " + str(error).partition("\n")[0]}
    after = record_of(folder, case)
    present = run.folder.exists()  # it does not if another machine has run it
    result |= compared(failed, before if present else after, after)
    result |= {"log": existing(folder / LOG), "waves": existing(folder / WAVES)}
    return result if result["waves"] is None else result | at_the_beat(folder, after)


def compared(failed: bool, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Compare the records of a failure and of its second run."""
    if not failed:
        return {"note": "not reproduced: it passed when it ran again alone"}
    reproduced = same(before, after)
    return {
        "reproduced": reproduced,
        "first_wrong": after.get("first_wrong") or before.get("first_wrong"),
        "note": "" if reproduced else "it failed in another way when it ran again",
    }


def at_the_beat(folder: Path, after: dict[str, Any]) -> dict[str, Any]:
    """Return a save file that opens the waves at the first wrong beat, and that beat's time."""
    result: dict[str, Any] = {}
    wrong = after.get("first_wrong")
    if wrong is not None and wrong["cycle"] is not None:
        wrong["wave_ns"] = moment(wrong["cycle"])
    used = [stream["stream"] for stream in after.get("streams", ())]
    return result | {"gtkw": str(write_save(folder / WAVES, wrong, used))}


def rerun(simulation: Simulation, case: str, seed: int, folder: Path) -> Run | None:
    """Simulate ``case`` alone with waves, unobserved; return the failed run, None if it passes."""
    test_filter = only(case) if case else simulation.test_filter
    (folder / first_wrong.FILE).unlink(missing_ok=True)
    with unobserved():
        try:
            simulation.again(
                seed=seed, waves=True, coverage=False, test_filter=test_filter, folder=folder
            )
        except SimulationError as error:
            return error.run
        finally:
            (folder / RESULTS).unlink(missing_ok=True)
    return None


def only(case: str) -> str:
    """Return the filter of cocotb tests that lets ``case`` through."""
    return rf"\.{re.escape(case)}$"


@contextlib.contextmanager
def unobserved() -> Iterator[None]:
    """Tell no observer, add nothing to a folder of coverage runs, print no log."""
    watching = observers[:]
    observers.clear()
    try:
        with changed(dict.fromkeys(QUIET)), contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        observers[:] = watching


def record_of(folder: Path, case: str) -> dict[str, Any]:
    """Return what the simulator wrote down of ``case``; nothing if it did not get that far."""
    path = folder / first_wrong.FILE
    records = json.loads(path.read_text()) if path.exists() else []
    return next((record for record in records if record["case"] == case), {})


def same(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Return whether two failures are one, even in other cycles: no other cases run first now."""
    seen = []
    for record in (before, after):
        wrong = record.get("first_wrong") or {}
        seen.append({key: value for key, value in wrong.items() if key != "cycle"})
    return seen[0] == seen[1] and (bool(seen[0]) or before.get("error") == after.get("error"))


def existing(path: Path) -> str | None:
    """Return ``path`` as text if there is such a file."""
    return str(path) if path.exists() else None


def module_of(simulation: Simulation | None) -> str:
    """Return the file of the simulation's tests, for when the test itself is not known."""
    return "tests" if simulation is None else simulation.test_module.replace(".", "/") + ".py"


def replay_line(test: str, case: str, seed: int) -> str:
    """Return a command for a shell in the checkout that runs the case again, with waves."""
    python = Path(sys.executable)
    inside = python.is_relative_to(CHECKOUT)
    words = [str(python.relative_to(CHECKOUT)) if inside else "python", "-m", "pytest", "-n", "0"]
    words += [test, "--seed", str(seed), "--waves"]
    return shlex.join([*words, *(["--case", only(case)] if case else [])])
