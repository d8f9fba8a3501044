"""Compares the worst path of each clock of a design with what the clock's period allows."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from gen.base.emission.emit import EmittedModule, domain_ports
from gen.synth.depth import Depth, deepest
from gen.synth.limits import most_levels, path_ns
from hdl.common.core_clock import CORE_MHZ


@dataclass(frozen=True, kw_only=True)
class ClockTiming:
    """Holds a clock of a design, and the worst of the paths between its registers."""

    name: str
    mhz: float
    module: str = ""  #: module with the worst path; empty if there is no path
    depth: Depth = field(default_factory=Depth)

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> "ClockTiming":
        """Return the timing that :meth:`describe` has described."""
        stored = {name: described[name] for name in ("name", "mhz", "module")}
        return cls(depth=Depth(**described["depth"]), **stored)

    @property
    def period(self) -> float:
        """Return the period in ns."""
        return 1000 / self.mhz

    @property
    def most_levels(self) -> int:
        """Return the most levels that a path may have."""
        return most_levels(self.mhz)

    @property
    def needs(self) -> float:
        """Return the period, in ns, that the worst path has room in."""
        return path_ns(self.depth.most_levels)

    @property
    def met(self) -> bool:
        """Return whether no path has more levels."""
        return self.depth.most_levels <= self.most_levels

    @property
    def path(self) -> str:
        """Return the worst path in words; empty if there is none."""
        depth = self.depth
        return f"{self.module}: {depth.start} to {depth.end}" if self.module else ""

    def describe(self) -> dict[str, Any]:
        """Return everything about the clock as an object of JSON."""
        limits = {"period": self.period, "most_levels": self.most_levels, "met": self.met}
        return {**asdict(self), **limits, "path": self.path}


def timings(
    top: EmittedModule,
    depths: Mapping[str, Iterable[tuple[str, Depth]]],
    core_mhz: float | None = None,
) -> tuple[ClockTiming, ...]:
    """Return the timing of each clock of a design.

    ``depths`` are the modules with paths, and the worst of each, by the name that ``top`` has for
    the clock. ``core_mhz`` is that of a design without a list of clocks, CORE_MHZ unless given.
    Raises ValueError for a clock of which no frequency is known.
    """
    known = clocks_of_design(top, core_mhz or CORE_MHZ)
    if strange := sorted(set(depths) - set(known)):
        raise ValueError(f"{top.name}: no frequency is known of clock {strange[0]}")
    return tuple(timing(name, mhz, list(depths.get(key, ()))) for key, (name, mhz) in known.items())


def timing(name: str, mhz: float, depths: list[tuple[str, Depth]]) -> ClockTiming:
    """Return the timing of a clock; its path is that of the module with the most levels."""
    if not depths:
        return ClockTiming(name=name, mhz=mhz)
    module, own = max(depths, key=lambda item: (item[1].most_levels, item[1].order))
    most = deepest(depth for _, depth in depths)
    depth = replace(most, levels=own.levels, chains=own.chains, start=own.start, end=own.end)
    return ClockTiming(name=name, mhz=mhz, module=module, depth=depth)


def clocks_of_design(
    top: EmittedModule, core_mhz: float = CORE_MHZ
) -> dict[str, tuple[str, float]]:
    """Return name and MHz of each clock, by the port where it enters or the pin that makes it.

    A top for a card lists its clocks, and a kernel names the port of its clock; what has neither
    runs at the core's clock, but for domains whose clock it knows.
    """
    if listed := getattr(top.component, "clocks", ()):
        return {clock.pin or clock.port: (clock.name, clock.mhz) for clock in listed}
    if port := getattr(top.component, "clock", ""):
        return {port: ("sync", core_mhz)}
    known = getattr(top.component, "domain_mhz", {})
    return {domain_ports(d)[0]: (d, known.get(d, core_mhz)) for d in top.domains}
