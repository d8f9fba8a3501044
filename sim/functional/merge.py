"""Merges the functional coverage of many runs, without reviewed bins that cannot be hit."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

REVIEWED = Path(__file__).with_name("exclusions.toml")


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """Excludes bins that no legal use of a unit can hit; ``*`` matches anything in a pattern."""

    component: str  #: hdl.common.fifo.Fifo
    group: str  #: the port, as the bins are grouped
    bins: tuple[str, ...]
    reason: str

    def covers(self, component: str, group: str, bin: str) -> bool:
        """Return whether this rule excludes ``bin``."""
        return (
            fits(component, self.component)
            and fits(group, self.group)
            and any(fits(bin, pattern) for pattern in self.bins)
        )


@dataclass(frozen=True, kw_only=True)
class Survey:
    """Holds the bins of all runs in a folder."""

    bins: dict[str, list[dict[str, Any]]]  #: by component: {"group", "bin", "hits"}
    exclusions: list[dict[str, Any]]  #: exclusions needed: kind, component, what, reason, points
    false: tuple[str, ...] = ()  #: a line for each excluded bin that was hit

    @property
    def missed(self) -> list[str]:
        """Return every bin that was never hit, as a line."""
        return [
            f"{result['group']}: {result['bin']}"
            for bins in self.bins.values()
            for result in bins
            if not result["hits"]
        ]


def merge(runs: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the bins of all runs below ``runs`` by component; of the excluded ones, those hit."""
    return survey(runs).bins


def survey(runs: Path, exclusions: Iterable[Exclusion] | None = None) -> Survey:
    """Merge all runs below ``runs``, and report the exclusions that were needed."""
    rules = reviewed() if exclusions is None else tuple(exclusions)
    needed = dict.fromkeys(rules, 0)
    false = []
    bins: dict[str, list[dict[str, Any]]] = {}
    for (name, bin), hits in sorted(totals(runs).items()):
        component, _, group = name.partition(" ")
        rule = next((r for r in rules if r.covers(component, group, bin)), None)
        if hits and rule is not None:
            false.append(f"false exclusion: {name}: {bin} was hit, though: {rule.reason}")
        if hits or rule is None:
            bins.setdefault(component, []).append({"group": name, "bin": bin, "hits": hits})
        else:
            needed[rule] += 1
    used = [described(rule, count) for rule, count in needed.items() if count]
    return Survey(bins=bins, exclusions=used, false=tuple(false))


def totals(runs: Path) -> Mapping[tuple[str, str], int]:
    """Count the hits of each bin of each group over all runs."""
    total: dict[tuple[str, str], int] = {}
    for path in sorted(Path(runs).glob("*/bins.json")):
        for result in json.loads(path.read_text()):
            key = result["group"], result["bin"]
            total[key] = total.get(key, 0) + result["hits"]
    return total


def reviewed(path: Path = REVIEWED) -> tuple[Exclusion, ...]:
    """Read the exclusions in ``path``; raise ValueError for one without a reason."""
    rules = []
    for entry in tomllib.loads(path.read_text()).get("exclusion", []):
        rule = Exclusion(
            component=entry["component"],
            group=entry["group"],
            bins=tuple(entry["bins"]),
            reason=entry["reason"].strip(),
        )
        if not rule.reason:
            raise ValueError(f"{path.name}: {rule.component} {rule.group}: give a reason")
        rules.append(rule)
    return tuple(rules)


def described(rule: Exclusion, points: int) -> dict[str, Any]:
    """Return an exclusion in the form of coverage.json."""
    return {
        "kind": "bin",
        "component": rule.component,
        "what": f"{rule.group}: {', '.join(rule.bins)}",
        "reason": rule.reason,
        "points": points,
    }


def fits(text: str, pattern: str) -> bool:
    """Return whether ``text`` matches ``pattern``; ``*`` is special in it, brackets are not."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))
