"""Explains failed items: where each first went wrong, and how to see it again."""

import base64
import pickle
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from sim.verify.items import Item

PATHS = ("log", "waves", "gtkw")
OUTPUT = "pytest.txt"


def explain(
    items: Sequence[Item], folder: Path, most: int, progress: Callable[[str], None]
) -> list[Item]:
    """Return ``items`` with each failure explained; its files go to ``failures/<n>`` of ``folder``.

    The first ``most`` that failed in a simulation run once more, with waves.
    """
    explained, number = [], 0
    for item in items:
        if not item.good:
            number += 1
            target = folder / "failures" / str(number)
            target.mkdir(parents=True, exist_ok=True)
            (target / OUTPUT).write_text(item.output)
            failure = plain(item, target)
            if item.failed and most > 0:
                most -= 1
                progress(f"once more, with waves: {item.test} seed {item.seed}")
                failure |= looked_into(item, target)
            item = item.with_failure(inside(folder, failure))
        explained.append(item)
    return explained


def plain(item: Item, target: Path) -> dict[str, Any]:
    """Return what is known of a failure without another run."""
    wrong = [case["name"] for run in item.runs for case in run["cases"] if not case["passed"]]
    return {
        "case": wrong[0] if wrong else "",
        "first_wrong": None,
        "replay": f"ingather verify {shlex.quote(item.test)} --seed {item.seed} --waves",
        "log": str(target / OUTPUT),
        "waves": None,
        "gtkw": None,
        "note": "",
    }


def looked_into(item: Item, target: Path) -> dict[str, Any]:
    """Return what another run on the same seed tells, or what goes wrong with that run."""
    from sim.verify.rerun import investigate

    try:
        simulation, run = pickle.loads(base64.b64decode(item.failed))
        result = investigate(simulation, run, target, test=item.test)
    except Exception as error:  # the verdict stands; only its explanation is missing
        return {"note": f"not run again: {type(error).__name__}: {error}"}
    return {name: value for name, value in result.items() if name != "log" or value}


def inside(folder: Path, failure: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``failure`` with paths made relative to ``folder`` where they lie in it."""
    paths = {name: Path(failure[name]) for name in PATHS if failure[name]}
    inner = {name: path for name, path in paths.items() if path.is_relative_to(folder)}
    return {**failure, **{name: str(path.relative_to(folder)) for name, path in inner.items()}}


def show(console: Console, items: Sequence[Item], folder: Path) -> None:
    """Print a few lines for each failure, with paths as they are seen from here."""
    for item in items:
        failure = item.failure
        if failure is None:
            continue
        console.print(
            f"\n{item.outcome}  {item.test} seed {item.seed}",
            style="bold red",
            soft_wrap=True,
            highlight=False,
            markup=False,
        )
        wrong = failure["first_wrong"]
        reported = {
            "why": item.message,
            "wrong": first_wrong(wrong) if wrong else "",
            "note": failure.get("note", ""),
            "replay": failure["replay"],
            **{name: str(folder / failure[name]) for name in PATHS if failure[name]},
        }
        for name, text in reported.items():
            if text:
                console.print(Text(f"  {name:7} {text}"), soft_wrap=True, highlight=False)


def first_wrong(wrong: Mapping[str, Any]) -> str:
    """Return the first wrong beat in words."""
    where = f"{wrong['stream']}[{wrong['index']}]"
    field = f" {wrong['field']}" if wrong.get("field") else ""
    reported = f"expected {wrong['expected']}, got {wrong['got']}"
    return f"cycle {wrong['cycle']}: {where}{field}: {reported}"
