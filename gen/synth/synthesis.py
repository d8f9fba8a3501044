"""Estimates what a design takes: each distinct module is mapped once, then multiplied.

Nothing is optimised across modules, and registers that Vivado takes into block RAM, UltraRAM and
inferred DSPs count as FFs: what is built takes less.
"""

import os
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gen.base.emission.emit import Emission, EmittedModule
from gen.synth import mapping
from gen.synth.cells import use_of_cells
from gen.synth.clock_timing import ClockTiming, timings
from gen.synth.depth import Depth, ModuleTiming, deepest
from gen.synth.fan_out import ModuleNets, Net, nets_of
from gen.synth.limits import MAX_CHAINS, MAX_FAN_OUT
from gen.synth.mapping import Cache, called, digest
from gen.synth.memories import MemoryUse, memories_of
from gen.synth.resources import KINDS, Resources
from gen.synth.timing import timing_of

#: what is found of a netlist depends on all that is in this folder
CODE = digest(*(path.read_text() for path in sorted(Path(__file__).parent.glob("*.py"))))
FINDINGS = "found.pickle"
#: hears how many modules are done, how many there are, and the name of the latest
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Holds what is found of a module, which is the same in every design and under every name."""

    own: Resources  #: resources of the module without those of what it places
    depth: Depth  #: its worst path between registers, children's ports included
    memories: tuple[MemoryUse, ...]
    unknown: Mapping[str, int]  #: primitives that no resource is known of, and how many
    crowded: tuple[Net, ...] = ()  #: wires of too many loads that begin here or below
    reset: Net = field(default_factory=Net)  #: the wire that ends here and resets most registers


@dataclass(frozen=True, kw_only=True)
class ModuleEstimate(Findings):
    """Holds the estimate of a distinct module of a design."""

    name: str
    component: str  #: the class of the component that it was emitted from
    count: int  #: how often it stands in the design
    children: Mapping[str, int]  #: module -> times placed in this one

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> "ModuleEstimate":
        """Return the estimate that :meth:`describe` has described, without memories and wires."""
        own = {kind: described["own"][kind] for kind in KINDS}
        stored = {name: described[name] for name in ("name", "component", "count", "children")}
        depth = Depth(**described["depth"])
        return cls(own=Resources(**own), depth=depth, memories=(), unknown={}, **stored)

    def describe(self) -> dict[str, Any]:
        """Return the estimate as an object of JSON."""
        return {
            "name": self.name,
            "component": self.component,
            "count": self.count,
            "own": amounts(self.own),
            "depth": self.depth.describe(),
            "memories": [memory.describe() for memory in self.memories],
            "children": dict(self.children),
            "unknown": dict(self.unknown),
            "crowded": [net.describe() for net in self.crowded],
        }


@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """Holds the estimates of all modules of a design, children before parents."""

    modules: Mapping[str, ModuleEstimate]
    clocks: tuple[ClockTiming, ...] = ()

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> "Synthesis":
        """Return the estimate that :meth:`describe` has described, without memories and wires."""
        return cls(
            modules={module["name"]: ModuleEstimate.of(module) for module in described["modules"]},
            clocks=tuple(ClockTiming.of(clock) for clock in described["clocks"]),
        )

    def __repr__(self) -> str:
        return f"<Estimate of {self.top.name}: {self.inclusive(self.top.name)}>"

    @property
    def top(self) -> ModuleEstimate:
        """Return the module that contains all others."""
        return list(self.modules.values())[-1]

    @cached_property
    def _inclusive(self) -> dict[str, Resources]:
        totals: dict[str, Resources] = {}
        for name, module in self.modules.items():
            below = (times * totals[child] for child, times in module.children.items())
            totals[name] = sum(below, module.own)
        return totals

    def inclusive(self, name: str) -> Resources:
        """Add up the resources of one module ``name`` and everything below it."""
        return self._inclusive[name]

    def of_class(self, component: str) -> list[ModuleEstimate]:
        """Return the modules of a component's class, one for each set of parameters."""
        return [module for module in self.modules.values() if module.component == component]

    @property
    def total(self) -> Resources:
        """Add up the resources of the whole design."""
        return self.inclusive(self.top.name)

    @property
    def strayed(self) -> list[tuple[ModuleEstimate, MemoryUse]]:
        """Return the memories that were not mapped to the kind of cell that they ask for."""
        return [
            (module, memory)
            for module in self.modules.values()
            for memory in module.memories
            if not memory.as_intended
        ]

    @property
    def crowded(self) -> list[tuple[ModuleEstimate, Net]]:
        """Return the wires that have too many loads, and the module in which each ends."""
        return [(module, net) for module in self.modules.values() for net in module.crowded]

    @property
    def widest_reset(self) -> ModuleEstimate:
        """Return the module with the wire that resets most registers."""
        return max(self.modules.values(), key=lambda module: module.reset.resets)

    @property
    def deepest(self) -> ModuleEstimate:
        """Return the module with the worst path."""
        return max(self.modules.values(), key=lambda module: module.depth.order)

    @property
    def depth(self) -> Depth:
        """Return the worst path of all modules, and the most of each kind on any path."""
        return deepest(module.depth for module in self.modules.values())

    def too_slow(self) -> Iterator[str]:
        """Yield a line for each limit that the design exceeds, so that it may miss its clock.

        Registers at wires between dies are not checked here but in the floorplan.
        """
        for clock in self.clocks:
            if not clock.met:
                yield (
                    f"{clock.depth.most_levels} levels on a path of clock {clock.name},"
                    f" {clock.most_levels} are the most at {clock.mhz:g} MHz; {clock.path}"
                )
        depth = self.depth
        if depth.most_chains > MAX_CHAINS:
            yield f"{depth.most_chains} carry chains on a path, {MAX_CHAINS} is the most"
        for module, net in self.crowded:
            yield (
                f"{net.loads:,} loads at {net.driver} of {module.name}, {MAX_FAN_OUT:,} are the"
                " most where no flip-flop drives them"
            )

    def clocked(self, core_mhz: float) -> "Synthesis":
        """Return the estimate with another clock of the core, ``sync``; paths stay the same."""
        clocks = (
            replace(clock, mhz=core_mhz) if clock.name == "sync" else clock for clock in self.clocks
        )
        return replace(self, clocks=tuple(clocks))

    def describe(self) -> dict[str, Any]:
        """Return the estimates as an object of JSON."""
        return {
            "top": self.top.name,
            "total": amounts(self.total),
            "depth": {"module": self.deepest.name, **self.depth.describe()},
            "clocks": [clock.describe() for clock in self.clocks],
            "reset": {"module": self.widest_reset.name, **self.widest_reset.reset.describe()},
            "modules": [
                module.describe() | {"inclusive": amounts(self.inclusive(name))}
                for name, module in self.modules.items()
            ],
        }


def amounts(resources: Resources) -> dict[str, int]:
    """Return resources as JSON, with the sum of LUTs of both uses."""
    return {"luts": resources.luts, **asdict(resources)}


#: a module, and how its parent sees it
Seen = tuple[Findings, ModuleTiming, ModuleNets]


def synthesise(
    emission: Emission, cache: Cache, progress: Progress | None = None, jobs: int | None = None
) -> Synthesis:
    """Estimate ``emission``, ``jobs`` modules at a time (as many as there are cores).

    What has been found of a module before is in ``cache``. Raises UserError if Yosys is missing.
    """
    result = find_all(emission.modules, cache, progress, jobs or os.cpu_count() or 1)
    counts, estimates = emission.counts(), dict[str, ModuleEstimate]()
    for name, module in emission.modules.items():
        of_module, _, nets = result[name]
        out = [net for net in nets.leaving if net.crowded and module is emission.top]
        item: dict[str, Any] = {**vars(of_module), "crowded": (*of_module.crowded, *out)}
        estimates[name] = ModuleEstimate(
            name=name,
            component=module.kind.__name__,
            count=counts[name],
            children=dict(module.instances),
            **item,
        )
    depths = by_clock(emission, {name: timing for name, (_, timing, _) in result.items()})
    return Synthesis(modules=estimates, clocks=timings(emission.top, depths))


def by_clock(
    emission: Emission, result: Mapping[str, ModuleTiming]
) -> dict[str, list[tuple[str, Depth]]]:
    """Return the modules with paths of each clock, and the worst of each, by the top's name of it.

    A module counts for every clock that one of its instances has.
    """
    names: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in result}
    names[emission.top.name] |= {clock: {clock} for clock in result[emission.top.name].clocks}
    depths: dict[str, list[tuple[str, Depth]]] = defaultdict(list)
    for name, module in reversed(emission.modules.items()):
        timing, at_top = result[name], names[name]
        for clock, paths in timing.paths.items():
            for at in at_top[clock] if paths.depth.end else ():
                depths[at].append((name, paths.depth))
        for child, call in called(module).items():
            for clock, near in timing.clocks_below.get(call, {}).items():
                names[child][clock] |= set().union(*(at_top[item] for item in near))
    return depths


def look_at(source: str, netlist: mapping.MappedModule, below: Mapping[str, Seen]) -> Seen:
    """Find what there is to say of a module, by its netlist and the modules below."""
    nets, loads = nets_of(netlist, {call: nets for call, (_, _, nets) in below.items()})
    timing = timing_of(netlist, {call: timing for call, (_, timing, _) in below.items()}, loads)
    own, unknown = use_of_cells({k: n for k, n in netlist.count().items() if k not in below})
    memory, depth = memories_of(source, netlist.cells), timing.depth
    wires = {"crowded": nets.crowded, "reset": nets.reset}
    result = Findings(own=own, depth=depth, memories=memory, unknown=unknown, **wires)
    return result, timing, nets


def find_all(
    modules: Mapping[str, EmittedModule], cache: Cache, progress: Progress | None, jobs: int
) -> dict[str, Seen]:
    """Find all modules, in threads that wait for Yosys, which runs in processes of its own.

    None waits for a module that has not begun, as children stand before parents.
    """
    keys: dict[str, str] = {}
    futures: dict[str, Future[Seen]] = {}

    def find(module: EmittedModule, source: str, key: str) -> Seen:
        def make(folder: Path) -> None:
            netlist = mapping.map_module(module.name, source, cache)
            below = {call: futures[child].result() for child, call in called(module).items()}
            (folder / FINDINGS).write_bytes(pickle.dumps(look_at(source, netlist, below), 5))

        folder, _ = cache(mapping.KIND, key, make)
        return pickle.loads((folder / FINDINGS).read_bytes())

    with ThreadPoolExecutor(jobs) as pool:
        for name, module in modules.items():
            source = mapping.source_of(module, modules)
            below = (keys[child] for child in module.instances)
            keys[name] = digest(mapping.key_of(source), CODE, *below)
            futures[name] = pool.submit(find, module, source, keys[name])
        names = dict(zip(futures.values(), futures, strict=True))
        try:
            for done, future in enumerate(as_completed(names), 1):
                future.result()
                if progress is not None:
                    progress(done, len(modules), names[future])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {name: future.result() for name, future in futures.items()}
