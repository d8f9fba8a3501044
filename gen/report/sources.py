"""Finds the results that lie in folders, and tells by its content what each file is.

Found are sweeps (``*.sqlite``), regressions (``verify.json``, with the ``coverage.json`` beside
it), estimates (``ingather synth -o``) and the results (``result.json``) of runs such as
``train``.
Other files are passed over; what has the name of a result and cannot be read is named as left out.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from operator import itemgetter
from pathlib import Path
from typing import Any

from gen.base.errors import UserError
from gen.report.sweep import Sweep, read_sweep

DEPTH = 5  #: folders below the given one that are looked into
LOCKS = ".locks"  #: stands in folders of cached builds, where no results are
HEAD = 4096  #: bytes that tell whether a JSON file may be an estimate
#: names of JSON files that must be results; others are asked by their content
RESULTS = ("result.json", "verify.json")

#: maps a kind of result to keys that only its JSON has
KEYS = {
    "regression": {"command", "items", "seeds"},
    "estimate": {"design", "total", "modules", "device"},
    "run": {"command", "design", "workload", "figures", "exact"},
}


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Holds the results of some folders, in the order of their labels."""

    sweeps: tuple[Sweep, ...]
    results: Mapping[str, tuple[tuple[str, dict[str, Any]], ...]]  #: kind -> label, content
    left_out: tuple[str, ...]  #: a line for each file that could not be read, by its label

    def runs(self) -> dict[str, tuple[tuple[str, dict[str, Any]], ...]]:
        """Return the label and the content of each run, by its command."""
        every = self.of("run")
        commands = sorted({str(content["command"]) for _, content in every})
        return {
            name: tuple(item for item in every if str(item[1]["command"]) == name)
            for name in commands
        }

    def of(self, kind: str) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Return the label and the content of each result of ``kind``, one of KEYS."""
        return self.results.get(kind, ())

    @property
    def empty(self) -> bool:
        """Return whether there is nothing to show."""
        return not self.sweeps and not any(self.results.values())


def find(places: Iterable[Path]) -> Findings:
    """Find the results in ``places``, which are folders to search, or files.

    Raises UserError for a place that is not there, for a file among them that is no result, and
    if there is nothing at all.
    """
    sweeps: list[Sweep] = []
    results: dict[str, list[tuple[str, dict[str, Any]]]] = {kind: [] for kind in KEYS}
    left_out: list[str] = []
    places = list(places)
    for path, label, requested in labelled(places):
        try:
            if path.suffix == ".sqlite":
                sweeps.append(read_sweep(path, label))
            elif known := read_json(path, requested=requested):
                results[known[0]].append((label, known[1]))
        except UserError as error:
            if requested:
                raise
            left_out.append(str(error).replace(str(path), label))
    result = Findings(
        sweeps=tuple(sorted(sweeps, key=lambda sweep: sweep.label)),
        results={kind: tuple(sorted(some, key=itemgetter(0))) for kind, some in results.items()},
        left_out=tuple(sorted(left_out)),
    )
    if result.empty:
        where = ", ".join(str(place) for place in places)
        why = f": {result.left_out[0]}" if result.left_out else ""
        raise UserError(f"nothing to report in {where}{why}")
    return result


def labelled(places: Sequence[Path]) -> Iterator[tuple[Path, str, bool]]:
    """Yield each file once, with a unique label, and whether it was named itself."""
    seen: set[Path] = set()
    labels: set[str] = set()
    for place in places:
        if not place.exists():
            raise UserError(f"there is no {place}")
        for path in files_of(place):
            if path.resolve() in seen:
                continue
            seen.add(path.resolve())
            stem = label_of(place, path)
            numbers = (f"{stem} ({number})" for number in count(2))
            label = next(name for name in chain([stem], numbers) if name not in labels)
            labels.add(label)
            yield path, label, path == place


def files_of(place: Path) -> Iterator[Path]:
    """Yield the files that may be results, in order of their names."""
    if not place.is_dir():
        yield place
        return
    for folder, below, names in os.walk(place):
        deep = len(Path(folder).relative_to(place).parts) >= DEPTH
        below[:] = [] if deep or LOCKS in below else sorted(b for b in below if b[0] != ".")
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(".sqlite") or name in RESULTS or maybe_estimate(path):
                yield path


def maybe_estimate(path: Path) -> bool:
    """Return whether the file is JSON that begins as ``ingather synth`` writes it."""
    if path.suffix != ".json" or path.name == "manifest.json":
        return False
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return head.lstrip(b"{ \n\r\t").startswith(b'"design"') and b'"parameters"' in head


def label_of(place: Path, path: Path) -> str:
    """Return a file's name on the page: from the given folder on, without machine paths."""
    if path == place:
        return str(Path(path.resolve().parent.name) / path.name)
    return str(Path(place.resolve().name) / path.relative_to(place))


def read_json(path: Path, *, requested: bool) -> tuple[str, dict[str, Any]] | None:
    """Return the kind and the content of a result; None for other files, unless ``requested``
    for.
    """
    content = load(path)
    kind = kind_of(content)
    if kind is None:
        if path.name in RESULTS or requested:
            raise UserError(f"{path} is no result of verify, of synth or of a run such as train")
        return None
    if kind == "regression":
        beside = path.with_name("coverage.json")
        content["coverage"] = load(beside) if beside.exists() else None
    return kind, content


def load(path: Path) -> Any:
    """Return the JSON of a file, with None for NaN and infinity; raise UserError if it is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {reason(error)}") from error
    if not text.strip():
        raise UserError(f"{path} is empty")
    try:
        return json.loads(text, parse_constant=lambda name: None, parse_float=finite)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON: {error}") from error


def reason(error: OSError | UnicodeDecodeError) -> str:
    """Return in a few words why a file cannot be read."""
    return (error.strerror or "error") if isinstance(error, OSError) else "it is no text"


def finite(text: str) -> float | None:
    """Return a number; None if it is too large to be finite."""
    number = float(text)
    return number if math.isfinite(number) else None


def kind_of(content: Any) -> str | None:
    """Return which kind of KEYS the content is; None if it is none."""
    if not isinstance(content, dict):
        return None
    return next((kind for kind, keys in KEYS.items() if keys <= content.keys()), None)
