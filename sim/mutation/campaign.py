"""Tests one component by mutation: captures its tests, makes mutants, tries and proves them."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gen.base.emission.emit import Emission
from sim.harness.build_tools import BuildError
from sim.harness.cache import digest
from sim.harness.verilator import Simulation
from sim.mutation.capture import CaptureError, capture
from sim.mutation.equivalence import changes_nothing
from sim.mutation.mutants import ALL, Mutant, emission_with_sources, lines_of, mutate
from sim.mutation.targets import Target, shown
from sim.mutation.trial import TrialError, Verdict, builder, try_mutants

FORMAT = 3
MAX_SIZES = 2  #: most sizes of a component that share its mutants
WORTH = 0.1  #: a further size must add this share of source lines

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Sets how every component is tested."""

    sample: int = 50  #: mutants of each component's data, and faults
    control: int = ALL  #: most mutants of each component's control
    seed: int = 1  #: seed of the choice of mutants and of the tests
    #: limits the computing of a simulation; those that take longer are left out: far more than the
    #: tests of a component take, lest a busy machine decides whether there are any
    most_seconds: float = 60.0

    def key(self, target: Target) -> str:
        """Return a key that is equal for equal results."""
        return digest(str(FORMAT), str(asdict(self)), target.key)


@dataclass(frozen=True, kw_only=True)
class Size:
    """Holds one set of parameters that tests simulate, and the module that is mutated in it."""

    emission: Emission
    module: str
    simulations: tuple[Simulation, ...]  #: simulations of the module

    @property
    def weight(self) -> int:
        """Return roughly what a simulation of it costs."""
        return len(self.emission.verilog)


def examine(target: Target, plan: Plan, progress: Progress = lambda text: None) -> dict[str, Any]:
    """Return the mutation test of ``target`` as JSON: its mutants, and what became of each."""
    start = time.monotonic()
    result = {
        "format": FORMAT,
        "component": target.name,
        "key": plan.key(target),
        "tests": [shown(test) for test in target.tests],
        "sizes": [],
        "mutants": [],
        "error": "",
    }
    try:
        for size, share in shares(target, plan, progress):
            sampled = sum(mutant["group"] != "control" for mutant in result["mutants"])
            reported, mutants = examine_size(size, share(sampled), plan, progress)
            result["sizes"].append(reported)
            result["mutants"] += mutants
        if not result["mutants"]:
            result["error"] = "its module has no cell of its own"
    except (CaptureError, TrialError, BuildError) as error:
        result["error"] = str(error)
    return {**result, "seconds": round(time.monotonic() - start, 1)}


def shares(
    target: Target, plan: Plan, progress: Progress
) -> Iterable[tuple[Size, Callable[[int], int]]]:
    """Yield the sizes to mutate, each with a function that gives its sample of mutants."""
    if not target.tests:
        raise CaptureError("it has no tests")
    progress("capturing")
    captured = capture(target.tests, target.key, plan.seed)
    progress("choosing sizes")
    sizes = choose_sizes(target, captured)
    if not sizes:
        raise CaptureError("no simulation of its tests contains it")
    for left, size in zip(range(len(sizes), 0, -1), sizes, strict=True):
        yield size, lambda present, left=left: -((present - plan.sample) // left)


def choose_sizes(target: Target, captured: Sequence[Simulation]) -> list[Size]:
    """Choose the few sizes that come from the most lines of source; of equals the middle one.

    The smallest is often a special case, and the largest takes long.
    """
    sizes = sizes_of(target, captured)
    chosen: list[Size] = []
    covered: frozenset[str] = frozenset()
    while sizes and len(chosen) < MAX_SIZES:
        most = max(len(own_lines(size) - covered) for size in sizes)
        equals = [size for size in sizes if len(own_lines(size) - covered) == most]
        best = sorted(equals, key=lambda size: size.weight)[(len(equals) - 1) // 2]
        if chosen and len(own_lines(best) - covered) <= WORTH * len(covered):
            break
        covered |= own_lines(best)
        chosen.append(best)
        sizes.remove(best)
    return chosen


def own_lines(size: Size) -> frozenset[str]:
    """Return the lines that the mutated module of ``size`` comes from."""
    return lines_of(size.emission.modules[size.module])


def sizes_of(target: Target, captured: Sequence[Simulation]) -> list[Size]:
    """Return every set of parameters that is simulated, if the component is in it."""
    own = [item for item in captured if item.component is target.component]
    if own:  # and those of it with its parts left empty, of which it is the subject
        own += [item for item in captured if subject_of(item) is target.component]
    groups: dict[Any, list[Simulation]] = {}
    for item in own or captured:
        groups.setdefault((item.component, item.params), []).append(item)
    sizes = []
    for (component, params), group in groups.items():
        emission = emission_with_sources(component(params))
        modules = modules_of(target, emission)
        if modules:
            module = max(modules, key=lambda name: len(emission.modules[name].rtlil))
            sizes.append(Size(emission=emission, module=module, simulations=tuple(group)))
    return sizes


def subject_of(simulation: Simulation) -> Any:
    """Return the component whose connections the simulation tests; None if it tests none."""
    return getattr(simulation.params, "subject", None)


def modules_of(target: Target, emission: Emission) -> list[str]:
    """Return the modules of the component; if there is none, those that a test derives from it.

    A test derives a component to have more of it in view.
    """
    components = {name: module.component for name, module in emission.modules.items()}
    own = [name for name, item in components.items() if type(item) is target.component]
    return own or [name for name, item in components.items() if isinstance(item, target.component)]


def examine_size(
    size: Size, sample: int, plan: Plan, progress: Progress
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Try the mutants of one size, ``sample`` of them beside those of control.

    Returns what was simulated, and the mutants.
    """
    progress("making mutants")
    emission, mutants, rtlil = mutate(size.emission, size.module, sample, plan.seed, plan.control)
    reported = {
        "top": size.emission.top.name,
        "module": size.module,
        "parameters": repr(size.emission.top.component.params),
        "simulations": len(size.simulations),
        "unusable": [],
    }
    verdicts: dict[int, Verdict] = {}
    waiting = [mutant.number for mutant in mutants]
    for simulation in size.simulations:
        if not waiting:
            break
        progress(f"{len(waiting)} of {len(mutants)} mutants left")
        try:
            built = builder(emission, simulation)
            tried = try_mutants(built, simulation, waiting, plan.seed, plan.most_seconds)
        except TrialError as error:
            reported["unusable"].append(str(error)[:300])
            continue
        verdicts |= {number: tried[number] for number in waiting}
        waiting = [number for number in waiting if not tried[number].result]
    if mutants and not verdicts:
        raise TrialError("; ".join(reported["unusable"]))
    progress(f"{len(waiting)} survivors")
    return reported, [describe(mutant, verdicts[mutant.number], rtlil) for mutant in mutants]


def describe(mutant: Mutant, verdict: Verdict, rtlil: str) -> dict[str, Any]:
    """Return a mutant as JSON: found, equivalent or survived."""
    proof = ""
    if not verdict.result:
        proof = changes_nothing(rtlil, mutant)
    return {
        "mutant": mutant.text,
        "group": mutant.group,
        "mode": mutant.mode,
        "module": mutant.module,
        "sources": list(mutant.sources),
        "fate": "found" if verdict.result else "equivalent" if proof else "survived",
        "how": verdict.outcome if verdict.result else proof,
        "message": verdict.message,
        "seconds": round(verdict.seconds, 3),
    }
