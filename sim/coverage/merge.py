"""Adds up the coverage of a whole regression: the points of all simulations, by component.

Which points count. A component is a class; every set of parameters gives a module of its own, but
those whose texts differ in names of modules only are one. The points of a component are those of
the sizes that its own tests simulate (the tests that mirror its file, or whose top it is, or those
that sim.mutation.targets names for it); of all sizes if there are no such tests. Another size,
inside a larger design, comes from the same source: it adds hits but no points, because its width
and its unused parts are due to that design. *Lines* (blocks of statements and both sides of every
branch) count in each module by itself. *Toggles* (every bit of every signal, rising and falling)
count once for all sizes, by signal and bit: an upper bit that only the widest size has must be
moved in that one, bit 0 in any. Verilator leaves signals of more than 256 bits out, and memories.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from os.path import normpath
from pathlib import Path
from typing import Any, Literal

from sim.coverage.data import Place, Toggle, read
from sim.coverage.exclusions import Rule, read_rules
from sim.coverage.nets import Nets, nets_of
from sim.coverage.source import Source, modules_of
from sim.coverage.thresholds import THRESHOLDS, below
from sim.harness.coverage_runs import design_of
from sim.mutation.targets import ELSEWHERE

Nature = Literal["constant", "again", "unread", ""]  #: a field of Nets
MAX_MISSED = 200  #: most missed items of one component in coverage.json


@dataclass
class Module:
    """Holds one module of all simulations that contained it, perhaps under several names."""

    component: str
    source: Source  #: source of the module with the first name
    names: set[str] = field(default_factory=set)
    own: bool = False  #: a size that the component's own tests simulate
    toggles: Counter[Toggle] = field(default_factory=Counter)
    places: Counter[Place] = field(default_factory=Counter)  #: lines count from the module's first


@dataclass(frozen=True)
class Verdict:
    """Says what became of a component's points of one kind."""

    hit: int
    missed: tuple[dict[str, str], ...]
    excluded: Counter[Rule]

    @property
    def counts(self) -> dict[str, int]:
        """Return the figures of coverage.json: hit and excluded points, and all that count."""
        total = self.hit + len(self.missed)
        return {"hit": self.hit, "total": total, "excluded": self.excluded.total()}


def collect(runs: Path, targets: Sequence[str] = ("hdl",)) -> dict[str, Module]:
    """Return the modules that the runs simulated, by class and text, with all their hits.

    ``runs`` is the folder of the runs. ``targets`` are packages, modules or classes. Raises
    CoverageError if a file is damaged.
    """
    modules: dict[str, Module] = {}
    for about in sorted(runs.glob("*/about.json")):
        if (about.parent / "coverage.dat").exists():
            add_run(modules, about, targets)
    return dict(sorted(modules.items(), key=lambda item: (item[1].source.name, item[0])))


def add_run(modules: dict[str, Module], about: Path, targets: Sequence[str]) -> None:
    """Add what one run has hit to ``modules``."""
    reported = json.loads(about.read_text())
    sources = sources_of(design_of(about.parent.parent, reported["design"]))
    expected: dict[str, Module] = {}
    for name, component in reported["components"].items():
        if is_within(component, targets):
            key = f"{component} {sources[name].body}"
            expected[name] = modules.setdefault(key, Module(component, sources[name]))
            expected[name].names.add(name)
            expected[name].own |= name == reported["top"] or mirrors(reported["test"], component)
    for point in read(about.parent / "coverage.dat"):
        module = expected.get(point.module)
        if module is None:
            continue
        if isinstance(point.at, Toggle):
            module.toggles[point.at] += point.hits
        else:
            module.places[shifted(point.at, sources[point.module].start)] += point.hits


def mirrors(test: str, component: str) -> bool:
    """Return whether ``tests/hdl/common/test_fifo.py::...`` tests ``hdl.common.fifo.Fifo``.

    So do the tests by which mutants of a component without such a file are judged.
    """
    module = component.rpartition(".")[0].replace(".", "/")
    folder, _, file = module.rpartition("/")
    names = f"test_{file}.py", *ELSEWHERE.get(f"{module}.py", ())
    files = tuple(normpath(f"{folder}/{name}") for name in names)
    return test.removeprefix("tests/").startswith(files)


@cache
def sources_of(design: Path) -> dict[str, Source]:
    """Return the modules of a simulator, whose Verilog is the file ``design``."""
    return modules_of(design.read_text())


def is_within(path: str, targets: Iterable[str]) -> bool:
    """Return whether ``path`` is one of ``targets`` or inside one."""
    return any(path == target or path.startswith(f"{target}.") for target in targets)


def shifted(place: Place, start: int) -> Place:
    """Return the place, with lines counted from the module's first."""
    lines = re.sub(r"\d+", lambda number: str(int(number[0]) - start), place.lines)
    return place._replace(line=place.line - start, lines=lines)


Bins = Mapping[str, Sequence[Mapping[str, Any]]]  #: bins of functional coverage, by component


def measure(
    runs: Path,
    targets: Sequence[str] = ("hdl",),
    *,
    bins: Bins | None = None,
    exclusions: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the content of coverage.json for what ran into ``runs``.

    ``bins`` are those of functional coverage within ``targets``, ``exclusions`` what left some out.
    """
    modules = collect(runs, targets)
    return assess(modules, read_rules(), bins=bins or {}, exclusions=exclusions)


def assess(
    modules: Mapping[str, Module],
    rules: Sequence[Rule],
    *,
    bins: Bins,
    exclusions: Sequence[Mapping[str, Any]] = (),
    every: Iterable[str] = (),
) -> dict[str, Any]:
    """Measure ``modules`` against the rules and thresholds.

    ``every`` names all components that are to be there: one that no simulation contains has 0 %.
    """
    taken: Counter[Rule] = Counter()
    components = []
    nets = nets_of(module.source for module in modules.values())
    present = {module.component for module in modules.values()}
    for component in sorted(present | set(bins) | set(every)):
        if component not in present:
            components.append(never_simulated(component, bins))
            continue
        sizes = [module for module in modules.values() if module.component == component]
        own = [module for module in sizes if module.own] or sizes
        applied = [rule for rule in rules if rule.is_for(component)]
        lines, toggles = judge_lines(own, applied), judge_toggles(own, sizes, applied, nets)
        taken += lines.excluded + toggles.excluded
        components.append(
            {
                "component": component,
                "modules": sorted(set().union(*(module.names for module in sizes))),
                "line": lines.counts,
                "toggle": toggles.counts,
                "missed": [*lines.missed, *toggles.missed][:MAX_MISSED],
                "bins": [dict(entry) for entry in bins.get(component, ())],
            }
        )
    return {
        "format": 1,
        "thresholds": THRESHOLDS,
        "components": components,
        "exclusions": [*(described(rule, taken[rule]) for rule in rules), *map(dict, exclusions)],
        "below": list(below(components)),
    }


def never_simulated(component: str, bins: Bins) -> dict[str, Any]:
    """Return a component as having one point of each kind, which is not hit."""
    nothing = {"hit": 0, "total": 1, "excluded": 0}
    return {
        "component": component,
        "modules": [],
        "line": nothing,
        "toggle": nothing,
        "missed": [{"kind": "line", "module": "", "where": "no simulation contains it"}],
        "bins": [dict(entry) for entry in bins.get(component, ())],
    }


def judge_lines(modules: Sequence[Module], rules: Sequence[Rule]) -> Verdict:
    """Judge the lines and branches of a component's modules."""
    hit, missed, excluded = 0, [], Counter()
    for module in modules:
        for place, hits in sorted(module.places.items()):
            rule = rule_for_place(place, module, rules)
            if rule is not None:
                excluded[rule] += 1
            elif hits:
                hit += 1
            else:
                where = f"{place.line} {place.what}: {module.source.lines[place.line].strip()}"
                missed.append({"kind": "line", "module": module.source.name, "where": where})
    return Verdict(hit, tuple(missed), excluded)


def rule_for_place(place: Place, module: Module, rules: Sequence[Rule]) -> Rule | None:
    """Return the rule that excludes a place of ``module``, if there is one."""
    line = module.source.lines[place.line]
    return next((rule for rule in rules if rule.takes_place(place, line)), None)


def judge_toggles(
    own: Sequence[Module],
    sizes: Sequence[Module],
    rules: Sequence[Rule],
    nets: Mapping[str, Nets],
) -> Verdict:
    """Judge the toggles of a component's ``own`` sizes, hit in any of its ``sizes``."""
    hit, missed, excluded = 0, [], Counter()
    for at, seen in sorted(joined(own, sizes, nets).items()):
        rule = next((rule for rule in rules if rule.takes_toggle(at, seen.nature)), None)
        if rule is not None:
            excluded[rule] += 1
        elif seen.hits:
            hit += 1
        else:
            missed.append({"kind": "toggle", "module": seen.module, "where": at.where})
    return Verdict(hit, tuple(missed), excluded)


@dataclass
class Seen:
    """Counts a toggle in all sizes of a component."""

    module: str  #: name of a module that has the signal
    hits: int = 0
    nature: Nature | None = None  #: the same in all sizes, or empty

    def add(self, nature: Nature) -> None:
        """Take the nature that one size shows; unequal ones become empty."""
        self.nature = nature if self.nature in (None, nature) else ""


def joined(
    own: Sequence[Module], sizes: Sequence[Module], nets: Mapping[str, Nets]
) -> dict[Toggle, Seen]:
    """Return the toggles of the sizes ``own``, with the hits of all sizes."""
    result: dict[Toggle, Seen] = {}
    for module in own:
        for at in module.toggles:
            kind = nature(at, nets[module.source.key])
            result.setdefault(at, Seen(module.source.name)).add(kind)
    for module in sizes:
        for at, hits in module.toggles.items():
            if at in result:
                result[at].hits += hits
    return result


def nature(at: Toggle, nets: Nets) -> Nature:
    """Return what Yosys knows of the bit in one module; empty if it knows nothing."""
    if at.bit in nets.constant.get(at.signal, ()):
        return "constant"
    if at.bit in nets.unread.get(at.signal, ()):
        return "unread"
    return "again" if at.bit in nets.again.get(at.signal, ()) else ""


def described(rule: Rule, points: int) -> dict[str, Any]:
    """Return a rule as coverage.json has it."""
    about = {"kind": rule.kind, "component": rule.component, "what": rule.what}
    return {**about, "reason": rule.reason, "points": points}
