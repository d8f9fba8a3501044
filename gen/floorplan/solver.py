"""Assigns parts to SLRs by an integer program."""

from collections.abc import Collection, Sequence
from typing import Any

from gen.floorplan.clusters import Cluster, clusters_of
from gen.floorplan.model import Floorplan, FloorplanError, Link, Part, check
from gen.packages import require
from gen.synth.device import LIMITED, Device

#: HiGHS' own tolerance, by which a goal may exceed the best value found for it before
TOLERANCE = 1e-6

CAPS, WIRES, REACH = "caps", "wires", "reach"  #: the sorts of limits


def solve(parts: Sequence[Part], links: Sequence[Link], device: Device) -> Floorplan:
    """Return the floorplan with the fewest wires between SLRs, and of those the most even one.

    A link uses its wires at every boundary between its ends. No SLR gets more than its budget, no
    boundary more than ``device.crossing_wires``; no wire passes more boundaries than its registers
    allow, so one without registers stays in its SLR. Equal arguments give equal floorplans; of
    equal parts the first ones go to the first SLRs. FloorplanError names the limits that cannot
    be kept.
    """
    check(parts, links, device)
    if not parts:
        return Floorplan(device=device, parts=(), links=(), assignment={})
    program = Program(clusters_of(parts, links, device), links, device)
    assignment = program.best()
    if assignment is None:
        raise FloorplanError(shortfall(parts, links, device))
    return Floorplan(device=device, parts=tuple(parts), links=tuple(links), assignment=assignment)


def new_highs() -> Any:
    """Make a silent solver that gives the same answer every time."""
    require("generate --board", "highspy")
    from highspy import Highs

    highs = Highs()
    highs.silent()
    for option, value in {"threads": 1, "random_seed": 0, "mip_rel_gap": 0.0}.items():
        highs.setOptionValue(option, value)
    return highs


class Program:
    """States a placement as an integer program; limits in ``slack`` may be passed, at a price."""

    def __init__(
        self,
        clusters: Sequence[Cluster],
        links: Sequence[Link],
        device: Device,
        slack: Collection[str] = (),
    ) -> None:
        self.highs = new_highs()
        self.clusters = clusters
        self.device = device
        self.slack = slack
        self.slacks: list[Any] = []
        slrs = range(len(device.slrs))
        self.lies = [[self.highs.addBinary() for _ in slrs] for _ in clusters]
        for cluster, lies in zip(clusters, self.lies, strict=True):
            self.highs.addConstr(self.total(lies) == 1)
            if cluster.slr is not None:
                self.highs.addConstr(lies[cluster.slr] == 1)
        self.fill = self.add_caps()
        self.index = {p.name: c for c, cluster in enumerate(clusters) for p in cluster.parts}
        self.add_reach(links)
        self.wires = [self.add_boundary(links, boundary) for boundary in slrs[:-1]]

    def total(self, terms: Sequence[Any]) -> Any:
        """Return the sum of ``terms``, which is an expression even if there are none."""
        return self.highs.qsum(terms) if terms else 0 * self.lies[0][0]

    def limit(self, what: str, expression: Any, limit: int) -> None:
        """Keep ``expression`` at most ``limit``; slack may pass it, at the cost of its share."""
        if what in self.slack:
            over = self.highs.addVariable(lb=0)
            self.slacks.append(over * (1 / max(limit, 1)))
            expression = expression - over
        self.highs.addConstr(expression <= limit)

    def add_caps(self) -> Any:
        """Add every SLR's budgets; return the largest share of one that is used."""
        fill = self.highs.addVariable(lb=0)
        for s, slr in enumerate(self.device.slrs):
            for kind in LIMITED:
                used = self.total(
                    [
                        getattr(cluster.resources, kind) * lies[s]
                        for cluster, lies in zip(self.clusters, self.lies, strict=True)
                    ]
                )
                self.limit(CAPS, used, slr.budget[kind])
                if slr.budget[kind] > 0:
                    self.highs.addConstr(used * (1 / slr.budget[kind]) - fill <= 0)
        return fill

    def add_reach(self, links: Sequence[Link]) -> None:
        """Keep a link's ends no further apart than its registers can reach."""
        at = [self.total([s * near for s, near in enumerate(lies)]) for lies in self.lies]
        for link in links:
            a, b = self.index[link.a], self.index[link.b]
            if a != b and link.wires and link.reach < len(self.device.slrs) - 1:
                self.limit(REACH, at[a] - at[b], link.reach)
                self.limit(REACH, at[b] - at[a], link.reach)

    def add_boundary(self, links: Sequence[Link], boundary: int) -> Any:
        """Limit the wires between SLR ``boundary`` and the next; return how many there are."""
        below = [self.total(lies[: boundary + 1]) for lies in self.lies]
        crossing: dict[Any, Any] = {}
        for number, link in enumerate(links):
            a, b = self.index[link.a], self.index[link.b]
            if a == b or not link.wires:
                continue
            key = number if link.shared is None else link.shared
            if key not in crossing:
                crossing[key] = self.highs.addVariable(lb=0)
            for first, second in ((a, b), (b, a)):
                apart = link.wires * (below[first] - below[second])
                self.highs.addConstr(crossing[key] - apart >= 0)
        wires = self.total(list(crossing.values()))
        self.limit(WIRES, wires, self.device.crossing_wires)
        return wires

    def best(self) -> dict[str, int] | None:
        """Find the best assignment of parts to SLRs; return None if there is none."""
        last = len(self.clusters)
        in_order = [
            slr * (last - c) * lies
            for c, row in enumerate(self.lies)
            for slr, lies in enumerate(row)
        ]
        goals = [self.total(self.slacks)] if self.slack else []
        goals += [self.total(self.wires), 1 * self.fill, self.total(in_order)]
        for goal in goals:
            least = self.minimise(goal)
            if least is None:
                return None
            self.highs.addConstr(goal <= least + TOLERANCE * max(1, least))
        return {
            part.name: max(range(len(lies)), key=lambda s: self.highs.val(lies[s]))
            for cluster, lies in zip(self.clusters, self.lies, strict=True)
            for part in cluster.parts
        }

    def minimise(self, goal: Any) -> float | None:
        """Minimise ``goal`` and return it; None if the limits cannot be kept."""
        self.highs.minimize(goal)
        if self.highs.getModelStatus().name != "kOptimal":
            return None
        return self.highs.getInfo().objective_function_value


def shortfall(parts: Sequence[Part], links: Sequence[Link], device: Device) -> str:
    """Explain why nothing fits: what the whole device lacks, or else wires, or all limits.

    The limits named are those that the least bad assignment passes, each counted by its share.
    """
    needs = [
        lack(f"{kind} of all SLRs", needed, budget)
        for kind in LIMITED
        if (needed := sum(getattr(part.resources, kind) for part in parts))
        > (budget := sum(slr.budget[kind] for slr in device.slrs))
    ]
    if not needs:
        clusters = clusters_of(parts, links, device)
        assignment = (
            Program(clusters, links, device, slack=[WIRES]).best()
            or Program(clusters, links, device, slack=[WIRES, CAPS]).best()
            or Program(clusters, links, device, slack=[WIRES, CAPS, REACH]).best()
        )
        assert assignment is not None, "with slack everything fits"
        least_bad = Floorplan(
            device=device, parts=tuple(parts), links=tuple(links), assignment=assignment
        )
        needs = passed_limits(least_bad)
    return f"no floorplan fits {device.name}: {'; '.join(needs)}"


def passed_limits(floorplan: Floorplan) -> list[str]:
    """Describe every limit that ``floorplan`` passes, and by how much."""
    slrs = floorplan.device.slrs
    result = [
        lack(f"{kind} of {slr.name}", getattr(use, kind), slr.budget[kind])
        for use, slr in zip(floorplan.use, slrs, strict=True)
        for kind in LIMITED
        if getattr(use, kind) > slr.budget[kind]
    ]
    limit = floorplan.device.crossing_wires
    for near, far, wires in zip(slrs, slrs[1:], floorplan.wires, strict=False):
        if wires > limit:
            result.append(
                f"{near.name}-{far.name} would need {wires:,} wires, {limit:,} are there"
                f" ({wires - limit:,} too many)"
            )
    for link in floorplan.links:
        apart = abs(floorplan.assignment[link.a] - floorplan.assignment[link.b])
        if link.wires and apart > link.reach:
            example = f" such as {link.example}" if link.example else ""
            result.append(
                f"{link.a} and {link.b} would lie {apart} boundaries apart, and the registers"
                f" between them{example} are enough for {link.reach}"
            )
    return result


def lack(what: str, needed: int, budget: int) -> str:
    """Describe one limit of an SLR that is passed."""
    kind, _, rest = what.partition(" ")
    name = "LUT" if kind == "luts" else kind.upper()
    return (
        f"{name} {rest}: {needed:,} needed, {budget:,} within the limits"
        f" ({needed - budget:,} too many)"
    )
