"""Estimates what a design takes: each distinct module is mapped once, then multiplied.

Nothing is optimised across modules, and registers that Vivado takes into block RAM, UltraRAM and
inferred DSPs count as FFs: what is built takes less.
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from gen.emission.emit import Emission, EmittedModule
from gen.synth.cells import use_of_cells
from gen.synth.fan_out import ModuleNets, Net, nets_of
from gen.synth.mapping import Cache, MappedModule, map_module, yosys_version
from gen.synth.memories import MemoryUse, memories_of
from gen.synth.resources import Resources
from gen.synth.timing import Depth, ModuleTiming, timing_of

#: hears how many modules are done, how many there are, and the name of the latest
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, kw_only=True)
class ModuleEstimate:
    """Holds the estimate of a distinct module of a design."""

    name: str
    component: str  #: the class of the component that it was emitted from
    own: Resources  #: resources of the module without those of what it places
    count: int  #: how often it stands in the design
    depth: Depth  #: its worst path between registers, children's ports included
    memories: tuple[MemoryUse, ...]
    children: Mapping[str, int]  #: module -> times placed in this one
    unknown: Mapping[str, int]  #: primitives that no resource is known of, and how many
    crowded: tuple[Net, ...] = ()  #: wires of too many loads that begin here or below

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
    def deepest(self) -> ModuleEstimate:
        """Return the module with the worst path."""
        return max(self.modules.values(), key=lambda module: module.depth.order)

    @property
    def depth(self) -> Depth:
        """Return the worst path of all modules, and the most of each kind on any path."""
        depths = [module.depth for module in self.modules.values()]
        return replace(
            self.deepest.depth,
            most_levels=max(depth.most_levels for depth in depths),
            most_chains=max(depth.most_chains for depth in depths),
            most_carry=max(depth.most_carry for depth in depths),
            rings=sum(depth.rings for depth in depths),
        )

    def describe(self) -> dict[str, Any]:
        """Return the estimates as an object of JSON."""
        return {
            "top": self.top.name,
            "total": amounts(self.total),
            "depth": {"module": self.deepest.name, **self.depth.describe()},
            "modules": [
                module.describe() | {"inclusive": amounts(self.inclusive(name))}
                for name, module in self.modules.items()
            ],
        }


def amounts(resources: Resources) -> dict[str, int]:
    """Return resources as JSON, with the sum of LUTs of both uses."""
    return {"luts": resources.luts, **asdict(resources)}


def synthesise(
    emission: Emission,
    progress: Progress | None = None,
    jobs: int | None = None,
    cache: Cache | None = None,
) -> Synthesis:
    """Estimate ``emission``, ``jobs`` modules at a time (as many as there are cores).

    With ``cache``, what has been mapped before is found there. Raises UserError if Yosys is
    missing.
    """
    yosys_version()
    mapped = map_all(emission.modules, progress, jobs or os.cpu_count() or 1, cache)
    counts, timings, nets = emission.counts(), dict[str, ModuleTiming](), dict[str, ModuleNets]()
    estimates = {}
    for name, module in emission.modules.items():
        netlist = mapped[name]
        cells = {kind: n for kind, n in netlist.count().items() if kind not in module.instances}
        own, unknown = use_of_cells(cells)
        timings[name], nets[name] = timing_of(netlist, timings), nets_of(netlist, nets)
        out = nets[name].leaving if module is emission.top else ()
        estimates[name] = ModuleEstimate(
            name=name,
            component=module.kind.__name__,
            own=own,
            count=counts[name],
            depth=timings[name].depth,
            memories=memories_of(module.rtlil, netlist.cells),
            children=dict(module.instances),
            unknown=unknown,
            crowded=(*nets[name].crowded, *(net for net in out if net.crowded)),
        )
    return Synthesis(modules=estimates)


def map_all(
    modules: Mapping[str, EmittedModule],
    progress: Progress | None,
    jobs: int,
    cache: Cache | None,
) -> dict[str, MappedModule]:
    """Map all modules; threads wait for Yosys, which runs in processes of its own.

    The largest go first, so that none is left to run alone at the end.
    """
    done: dict[str, MappedModule] = {}
    with ThreadPoolExecutor(jobs) as pool:
        waiting: dict[Future[MappedModule], str] = {}
        for module in sorted(modules.values(), key=lambda m: -len(m.rtlil)):
            waiting[pool.submit(map_module, module, modules, cache)] = module.name
        try:
            while waiting:
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    name = waiting.pop(future)
                    done[name] = future.result()
                    if progress is not None:
                        progress(len(done), len(modules), name)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return done
