"""Scores a mutation test: what was found, what is equivalent, and the survivors' reasons."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sim.mutation.mutants import GROUPS

REASONS = Path(__file__).with_name("survivors.toml")
LEAST = 90  #: per cent that a component's tests are to find of each group of mutants


@dataclass(frozen=True, kw_only=True)
class Share:
    """Counts what the tests of one component found of one group of mutants."""

    mutants: int
    detected: int
    equivalent: int  #: proven to change nothing
    excluded: int  #: survivors that cannot be told apart, for a reason that a reader can check

    @property
    def percent(self) -> float | None:
        """Return the per cent found of mutants not equivalent and not excluded; None if none."""
        total = self.mutants - self.equivalent - self.excluded
        return 100 * self.detected / total if total else None


@dataclass(frozen=True, kw_only=True)
class Score(Share):
    """Counts what the tests of one component found, of all mutants and of each group."""

    component: str
    groups: Mapping[str, Share]
    survivors: tuple[Mapping[str, Any], ...]  #: mutants not found, with a "reason" if known
    seconds: float
    error: str

    @property
    def unexplained(self) -> int:
        """Count the survivors without a reason."""
        return sum(not survivor["reason"] for survivor in self.survivors)

    @property
    def enough(self) -> bool:
        """Return whether the score of each group is as high as it has to be."""
        return not self.error and not self.weak

    @property
    def weak(self) -> dict[str, float]:
        """Return the per cent found of each group of which too little is found."""
        percents = {name: share.percent for name, share in self.groups.items()}
        return {name: item for name, item in percents.items() if item is not None and item < LEAST}


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Explains why mutants of a component are not found."""

    component: str
    mutant: str = ""  #: its whole description
    like: str = ""  #: or a pattern for several, with asterisks
    reason: str
    excluded: bool = False  #: nothing that can stand around the module tells it apart

    def covers(self, component: str, mutant: str) -> bool:
        """Return whether this is the reason of that mutant."""
        if component != self.component:
            return False
        return mutant == self.mutant if self.mutant else fnmatchcase(mutant, escaped(self.like))


def escaped(pattern: str) -> str:
    """Return ``pattern`` for fnmatch, with brackets that match themselves."""
    return pattern.replace("[", "[[]")


def read_reasons(path: Path = REASONS) -> tuple[Reason, ...]:
    """Read the reviewed reasons; raise ValueError for an entry of a wrong form."""
    try:
        entries = tomllib.loads(path.read_text()).get("survivor", [])
        reasons = tuple(Reason(**entry) for entry in entries)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path.name}: {error}") from error
    for item in reasons:
        if bool(item.mutant) == bool(item.like):
            raise ValueError(
                f"{path.name}: give mutant or like, of {item.component}: {item.reason}"
            )
    return reasons


#: decides what several seeds say of one mutant: the first of these that one of them says
FATES = ("found", "equivalent", "survived")


def union(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Combine the results of one component with several seeds: each mutant counts once.

    A mutant is found if it is with any seed. An error with any seed is one of the whole.
    """
    mutants: dict[str, Mapping[str, Any]] = {}
    for mutant in (item for result in results for item in result["mutants"]):
        known = mutants.setdefault(mutant["mutant"], mutant)
        if FATES.index(mutant["fate"]) < FATES.index(known["fate"]):
            mutants[mutant["mutant"]] = mutant
    sizes = {str(size): size for result in results for size in result["sizes"]}
    return {
        **results[0],
        "mutants": list(mutants.values()),
        "sizes": list(sizes.values()),
        "seconds": round(sum(result["seconds"] for result in results), 1),
        "error": next((result["error"] for result in results if result["error"]), ""),
    }


def idle(reasons: Iterable[Reason], results: Iterable[Mapping[str, Any]]) -> list[Reason]:
    """Return the reasons for components among ``results`` that no survivor there has."""
    survivors = {
        result["component"]: [m["mutant"] for m in result["mutants"] if m["fate"] == "survived"]
        for result in results
        if not result["error"]
    }
    return [
        item
        for item in reasons
        if item.component in survivors
        and not any(item.covers(item.component, mutant) for mutant in survivors[item.component])
    ]


def score(result: Mapping[str, Any], reasons: Iterable[Reason]) -> Score:
    """Score the result of :func:`sim.mutation.campaign.examine`."""
    name, reasons = result["component"], list(reasons)
    judged = [explained(mutant, name, reasons) for mutant in result["mutants"]]
    groups = {group: [item for item in judged if item["group"] == group] for group in GROUPS}
    return Score(
        component=name,
        **counts(judged),
        groups={group: Share(**counts(some)) for group, some in groups.items()},
        survivors=tuple(item for item in judged if item["fate"] == "survived"),
        seconds=result["seconds"],
        error=result["error"],
    )


def explained(
    mutant: Mapping[str, Any], component: str, reasons: Iterable[Reason]
) -> Mapping[str, Any]:
    """Return ``mutant``, if it survived with its reason, empty if there is none."""
    if mutant["fate"] != "survived":
        return mutant
    known = next((item for item in reasons if item.covers(component, mutant["mutant"])), None)
    why = {"reason": known.reason, "excluded": known.excluded} if known else {}
    return {**mutant, "reason": "", "excluded": False, **why}


def counts(mutants: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Count ``mutants`` as a :class:`Share` does."""
    fates = [mutant["fate"] for mutant in mutants]
    return {
        "mutants": len(fates),
        "detected": fates.count("found"),
        "equivalent": fates.count("equivalent"),
        "excluded": sum(mutant.get("excluded", False) for mutant in mutants),
    }


def below(scores: Iterable[Score]) -> list[str]:
    """Return a line for each component whose tests find too little, or could not be tried."""
    lines = []
    for item in scores:
        if item.error:
            lines.append(f"{item.component}: {item.error}")
        elif not item.enough:
            parts = ", ".join(f"{part:.0f} % of {group}" for group, part in item.weak.items())
            lines.append(f"{item.component}: {parts} found; it must be {LEAST} %")
    return lines
