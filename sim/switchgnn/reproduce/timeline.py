"""Makes figures 2(a) to 2(c): throughput, aggregators and queues of an aggregation over time."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from sim.reproduce.figure import Claim, Figure, Panel, by_paper
from sim.switchgnn.evaluation import timeline as slots
from sim.switchgnn.evaluation.timeline import Timeline, plan_timeline, strawman_timeline
from sim.switchgnn.planning.orders import ordered
from sim.switchgnn.reproduce import paper
from sim.switchgnn.reproduce.subjects import CLOCK, MEGABYTE, SEED, SLICE, Cut, Reduced, Subject

POINTS = 240  #: of a curve over the longest time
BUSY = 0.5  #: share of the maximum from which on an aggregation counts as under way
UNLIMITED, STRAWMAN, OWN, SLICES = "Straw-UL", "Straw-100MB", "SwitchGNN", "slices"
HARDWARE = "hardware"
Curve = NDArray[np.floating]


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Holds a timeline in the units of the paper's graph: ms, MB and Tb/s."""

    line: Timeline
    slot: float  #: ms
    unit: float  #: MB of a packet, and of an aggregator
    port: float = paper.LINK / 1e12  #: Tb/s

    @property
    def time(self) -> float:
        """Return the time until the last packet has left, in ms."""
        return self.line.slots * self.slot

    @property
    def held(self) -> Curve:
        """Return the MB held in aggregators, slot by slot."""
        return self.line.held * self.unit

    @property
    def queue(self) -> Curve:
        """Return the MB in queues, slot by slot."""
        return self.line.queue * self.unit

    @property
    def sums_share(self) -> float:
        """Return the share of sums among all packets that leave."""
        return float(self.line.sums.sum() / self.line.leaving.sum())

    def at(self, name: str, edges: Curve) -> Curve:
        """Return the mean of a column between each two times (ms): packets in a slot, or MB."""
        values = getattr(self.line, name) * (self.port if name in RATES else self.unit)
        until = np.concatenate([[0], np.cumsum(values)])
        sums = np.interp(edges / self.slot, np.arange(until.size), until)
        return np.diff(sums) / np.diff(edges) * self.slot


RATES = ("leaving", "sums")


def timed(cut: Cut) -> Mapping[str, Timed]:
    """Return the paper's three switches, and ours."""
    data = cut.subject.paper
    ratio = data.vertices / cut.subject.vertices  # packets of the paper's graph for one of ours
    whole = data.features * paper.VALUE_BYTES * ratio
    slot = 8 * whole / paper.LINK
    slices = -(-data.features // SLICE)
    wait = 4 * paper.DELAY  # the result, DONE, ADVANCE and the next block's first feature

    def plan(built: Reduced, slot: float, turns: int = 1) -> Timeline:
        sequence = ordered(built.senders, "priority-bfs", SEED).sequence
        return plan_timeline(built.senders, sequence, round(wait / slot), turns)

    result = {
        UNLIMITED: (strawman_timeline(cut.graph, cut.n, SEED), 1),
        STRAWMAN: (strawman_timeline(cut.graph, cut.aggregators(paper.MEMORY), SEED), 1),
        OWN: (plan(cut.multilevel(paper.MEMORY), slot), 1),
        SLICES: (
            plan(cut.destinations(paper.MEMORY, slices=True), slot / slices, slices),
            slices,
        ),
    }
    own = Timed(
        line=slots.hardware_timeline(cut.hardware, -(-data.features // 128)),
        slot=1e3 * cut.hardware.limits.sums * ratio / CLOCK,
        unit=128 * paper.VALUE_BYTES * ratio / MEGABYTE,
    )
    return {
        name: Timed(line=line, slot=1e3 * slot / part, unit=whole / part / MEGABYTE)
        for name, (line, part) in result.items()
    } | {HARDWARE: own}


def timelines(subject: Subject) -> Figure:
    """Make figures 2(a) to 2(c)."""
    result = timed(subject.cut(paper.MAX_WORKERS))
    edges = np.linspace(0, max(each.time for each in result.values()), POINTS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    curves = {
        (name, column): each.at(column, edges)
        for name, each in result.items()
        for column in ("leaving", "sums", "held", "queue")
    }

    def draw(column: str, label: str, axes: Axes) -> None:
        for name, each in result.items():
            while_it_lasts = edges[:-1] <= each.time
            axes.plot(middle[while_it_lasts], curves[name, column][while_it_lasts], label=name)
        if column == "sums":
            axes.plot(middle, curves[STRAWMAN, "leaving"], ":", label=f"{STRAWMAN}, total")
        axes.set_xlabel("ms")
        axes.set_ylabel(label)
        axes.set_xlim(0, result[STRAWMAN].time)

    return Figure(
        name="timeline",
        title="The strawman over time: plans alone, and the hardware by its model",
        source="section 2.4.1 and 6.1, figures 2(a) to 2(c)",
        quote="Specifically, from time 0ms to 1ms, the queue length rapidly increases from 0MB to"
        " 1000MB. [...] when aggregator resources are unlimited, the aggregation resource usage is"
        " approximately 500MB. [...] With a 100MB aggregator limit, the aggregation throughput is"
        " significantly reduced to only about 10% of the total throughput.",
        setting=f"{subject.name}, {paper.MAX_WORKERS} workers, one aggregation of all features,"
        " ports that move a packet in and one out in a slot, queues without end. The paper's"
        " pictures are not to be had; these are the quantities that its text names, of all packets"
        " that leave the switch: how many, how many of them are sums that the switch made, how many"
        " wait for their port, and how many unfinished sums the switch holds. Times and bytes are"
        f" those of the paper's {subject.paper.vertices:,} vertices: each vertex here stands for"
        f" {subject.paper.vertices / subject.vertices:.1f} of them, at 100 Gb/s and 4 bytes a"
        f" feature. Blocks wait for each other for four links of {1e6 * paper.DELAY:.0f} us.",
        rows=[
            {
                "ms": float(middle[at]),
                **{f"{name} {column}": float(each[at]) for (name, column), each in curves.items()},
            }
            for at in range(POINTS)
        ],
        shown=[
            {
                "switch": name,
                "time, ms": f"{each.time:.2f}",
                "sums, % of all that leaves": f"{100 * each.sums_share:.0f}",
                "most aggregators, MB": f"{each.held.max():.0f}",
                "longest queues, MB": f"{each.queue.max():.0f}",
            }
            for name, each in result.items()
        ],
        panels=[
            Panel("2(a): sums that leave", partial(draw, "sums", "Tb/s")),
            Panel("2(b): aggregators in use", partial(draw, "held", "MB")),
            Panel("2(c): packets that wait", partial(draw, "queue", "MB")),
        ],
        claims=claims(result),
        note="A sum waits once, at one port, and is no larger than a feature: all sums together are"
        f" {result[UNLIMITED].line.sums.sum() * result[UNLIMITED].unit:.0f} MB, so that the"
        " queues of"
        f" *{UNLIMITED}* cannot reach 1000 MB without heads, which are not counted here. *{OWN}*"
        " is the paper's plan and order, whose dips are where blocks wait for each other;"
        f" *{SLICES}* is the plan of destinations, a slice of {SLICE} features at a time."
        f" *{HARDWARE}* is preset full with as many ports, by the model that is held to the RTL: a"
        " row of lists a cycle, windows, heads, and its own memory.",
    )


def claims(result: Mapping[str, Timed]) -> list[Claim]:
    """Return the paper's statements, and whether each holds."""
    unlimited, strawman, own = (result[name] for name in (UNLIMITED, STRAWMAN, OWN))
    full = strawman.held > BUSY * strawman.held.max()
    first = {name: in_first_ms(result[name]) for name in (UNLIMITED, STRAWMAN)}
    text = ", ".join(f"{name} {value:.0f} MB" for name, value in first.items())
    return [
        by_paper(
            f"an unlimited memory has about {paper.HELD} MB in use, within 25 %",
            abs(unlimited.held.max() / paper.HELD - 1) <= 0.25,
            f"{unlimited.held.max():.0f} MB at most",
        ),
        by_paper(
            f"{paper.MEMORY} MB are nearly fully occupied",
            strawman.held[full].mean() > 0.9 * paper.MEMORY,
            f"{strawman.held.max():.1f} MB at most, {strawman.held[full].mean():.1f} MB in the mean"
            f" over {full.sum() * strawman.slot:.2f} ms",
        ),
        by_paper(
            "sums are about 10 % of the strawman's throughput, 5 to 15 %",
            0.05 <= strawman.sums_share <= 0.15,
            f"{strawman.sums_share:.0%}",
        ),
        by_paper(
            f"the strawman's queues reach {paper.QUEUE} MB in the first ms, with both memories",
            min(first.values()) >= paper.QUEUE,
            text,
        ),
        by_paper(
            f"SwitchGNN never uses more than {paper.MEMORY} MB",
            own.held.max() <= paper.MEMORY,
            f"{own.held.max():.0f} MB; {SLICES} {result[SLICES].held.max():.0f} MB",
        ),
        by_paper(
            "and avoids queue backlog: less than a quarter of the unlimited strawman's",
            own.queue.max() < unlimited.queue.max() / 4,
            ", ".join(f"{name} {each.queue.max():.0f} MB" for name, each in result.items()),
        ),
        by_paper(
            "and ends before the strawman",
            own.time < strawman.time,
            ", ".join(f"{name} {each.time:.2f} ms" for name, each in result.items()),
        ),
    ]


def in_first_ms(each: Timed) -> float:
    """Return the longest queues of the first ms, in MB."""
    return float(each.queue[: max(1, int(1 / each.slot))].max())
