"""Runs a regression on the workers of a cluster, each of which takes a file of tests at a time.

On a worker it is called as ``python -m sim.verify.elsewhere FOLDER``, which has :data:`OPTIONS`.
"""

import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gen.base.errors import UserError
from sim.cluster.dispatch import each
from sim.harness.cache import CHECKOUT, cache_root, workplace
from sim.verify.items import Item
from sim.verify.regression import (
    Listener,
    Options,
    Outcome,
    last_line,
    run_regression,
    termination_as_interrupt,
)

OPTIONS, ENDED = "options.pickle", "ended.pickle"


def run_elsewhere(client: Any, options: Options, listener: Listener) -> Outcome:
    """Run the tests that ``options`` name; the outcome has all that end, even if interrupted."""
    outcome, names, ended = noted(replace(options, jobs=0, collect_only=True))
    listener.collected(names)
    files: dict[str, list[str]] = {}
    for name in names if not ended else ():
        files.setdefault(name.partition("::")[0], []).append(name)
    for name, item in ended.items():  # what could not be collected
        listener.finished(name, item)
    try:
        with termination_as_interrupt():
            for _, ended in each(client, run_file, files.values(), options):
                for name, item in ended.items():
                    outcome.items.append(item)
                    listener.finished(name, item)
    except KeyboardInterrupt:
        outcome.interrupted = True
    return outcome


def run_file(names: Sequence[str], options: Options) -> dict[str, Item]:
    """Run the items ``names`` on a worker, in a process of its own; return what became of each."""
    with workplace() as folder:
        durations = cache_root() / "durations.json"
        own = replace(options, root=CHECKOUT, targets=names, jobs=1, durations=durations)
        (folder / OPTIONS).write_bytes(pickle.dumps(own))
        command = [sys.executable, "-m", __name__, str(folder)]
        done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
        if not (folder / ENDED).exists():
            raise UserError(f"{names[0]}: {last_line(done.stdout + done.stderr)}")
        outcome, ended = pickle.loads((folder / ENDED).read_bytes())
    if lacking := [name for name in names if name not in ended]:
        raise UserError(f"{lacking[0]}: {outcome.trouble or 'a worker has not run it'}")
    return ended


def noted(options: Options) -> tuple[Outcome, list[str], dict[str, Item]]:
    """Run a regression; return also the names of its items, and by name those that have ended."""
    names: list[str] = []
    ended: dict[str, Item] = {}
    listener: Any = SimpleNamespace(
        collected=names.extend, started=lambda _: None, finished=ended.__setitem__
    )
    return run_regression(options, listener), names, ended


if __name__ == "__main__":
    place = Path(sys.argv[1])
    result, _, items = noted(pickle.loads((place / OPTIONS).read_bytes()))
    (place / ENDED).write_bytes(pickle.dumps((result, items)))
