"""Makes figure 16: leaves and spines, where racks send each other sums."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes

from sim.reproduce.figure import Claim, Figure, Panel, by_paper, by_us, doubling
from sim.switchgnn.evaluation.frames import PACKET
from sim.switchgnn.evaluation.racks import (
    RackTraffic,
    hosts_alone,
    leaf_rows,
    plan_in_racks,
    racks_of,
    strawman_in_racks,
)
from sim.switchgnn.reproduce import paper
from sim.switchgnn.reproduce.subjects import FULL, SEED, Cut, Subject

SUMS = "slices, sums alone"  #: ours, if every packet between racks were a sum
TOGETHER = "multi-level, together"  #: as if blocks did not wait for each other
ROWS = "hardware, sums alone"  #: that, with the least rows of the leaves
OTHERS = ("BNS-GCN", "G3", "strawman")


def racks(subject: Subject, workers: Sequence[int]) -> Figure:
    """Make figure 16: the time of communication, and what each class of links carries."""
    built = {count: of_racks(subject.cut(count)) for count in workers}
    times = [{"workers": count, **times_of(subject.cut(count), built[count])} for count in workers]
    last = built[workers[-1]]
    links = [
        {
            "system": name,
            **{kind: value / subject.cut(workers[-1]).n for kind, value in each.packets.items()},
            "busiest": each.bottleneck(paper.SPINES),
        }
        for name, each in last.items()
    ]
    kinds = list(next(iter(last.values())).packets)
    names = [name for name in times[0] if name != "workers"]

    def draw_times(axes: Axes) -> None:
        for name in names:
            axes.plot(workers, [row[name] for row in times], "o-", label=name)
        doubling(axes, workers, "workers")
        axes.set_yscale("log")
        axes.set_ylabel("packets at the busiest link, for each vertex")

    def draw_links(axes: Axes) -> None:
        for at, kind in enumerate(kinds):
            places = [place + 0.2 * at for place in range(len(links))]
            axes.bar(places, [row[kind] for row in links], 0.2, label=kind)
        axes.set_xticks(
            [place + 0.3 for place in range(len(links))],
            [row["system"].replace(", ", ",\n") for row in links],
            fontsize=7,
        )
        axes.set_ylabel("packets, for each boundary vertex")

    return Figure(
        name="leaf-spine",
        title="Leaves and spines: plans alone, and a bound of the hardware",
        source="section 6.2, figure 16",
        quote="As the number of workers increases, cross-rack communication traffic also grows."
        " Once cross-rack communication becomes the primary bottleneck, the epoch time increases"
        " rapidly. SwitchGNN reduces traffic in each rack through hierarchical aggregation,"
        " achieving the lowest epoch time.",
        setting=f"{subject.name}, {paper.RACKS} leaves with {paper.SPINES} links to spines and as"
        f" many workers each, {paper.MEMORY} MB of aggregators at each leaf. The picture of figure"
        " 16 is an epoch's time; here it is the packets of a slice at the busiest link, as in the"
        " figure of the star: computation on GPUs is not included. A leaf's packets are spread"
        f" evenly over its links. Below: packets of each class of links at {workers[-1]} workers,"
        " for each boundary vertex.",
        rows=[
            {"workers": row["workers"], "system": name, "time": row[name], **each.packets}
            for row in times
            for name, each in built[row["workers"]].items()
        ],
        shown=[
            {name: f"{value:.2f}" if name in kinds else value for name, value in row.items()}
            for row in links
        ],
        panels=[
            Panel("time of communication", draw_times),
            Panel(f"links at {workers[-1]} workers", draw_links),
        ],
        claims=claims(times, built, kinds[1]),
        note="The paper's plan has many blocks, which wait for each other, and each block's"
        " vertices are at few workers, so that few links are busy at a time; *together* has them"
        " all at once. *slices* is the plan of destinations with the fewest packets between racks,"
        " copies of features or sums;"
        f" *{SUMS}* has every packet between racks a sum, as the paper's leaves would send. Of G3,"
        " which spreads hosts' traffic evenly, the mean link is taken."
        f" *{ROWS}* takes at least a cycle for each row of a leaf's shortest lists in 8 banks, in"
        " packets of 128 sums at 100 Gb/s.",
    )


def of_racks(cut: Cut) -> dict[str, RackTraffic]:
    """Return what every system sends."""
    rack = racks_of(cut.workers, min(paper.RACKS, cut.workers))
    reference, own = cut.multilevel(paper.MEMORY), cut.destinations(paper.MEMORY, slices=True)
    graph = cut.graph
    return {
        "BNS-GCN": hosts_alone(graph, rack),
        "strawman": strawman_in_racks(graph, rack, cut.aggregators(paper.MEMORY), SEED),
        "multi-level": plan_in_racks(graph, reference.plan, reference.senders, rack, cover=False),
        SUMS: plan_in_racks(graph, own.plan, own.senders, rack, cover=False),
        "slices": plan_in_racks(graph, own.plan, own.senders, rack, cover=True),
    }


def times_of(cut: Cut, built: dict[str, RackTraffic]) -> dict[str, float]:
    """Return packets at the busiest link per boundary vertex; for G3, at the mean link."""
    slots = {name: each.slots(paper.SPINES) for name, each in built.items()}
    slots["G3"] = built["BNS-GCN"].mean_slots(paper.SPINES)
    slots[TOGETHER] = built["multi-level"].together().slots(paper.SPINES)
    plan, sums = cut.destinations(paper.MEMORY, slices=True).plan, built[SUMS].into
    rack = racks_of(cut.workers, sums.shape[1])
    rows = leaf_rows(cut.graph, plan.block, rack, sums, FULL.banks).max(1)
    slots[ROWS] = built[SUMS].slots(paper.SPINES, rows / PACKET)
    order = (*OTHERS, "multi-level", TOGETHER, SUMS, "slices", ROWS)
    return {name: slots[name] / cut.n for name in order}


def claims(
    times: Sequence[dict[str, Any]], built: dict[int, dict[str, RackTraffic]], uplink: str
) -> list[Claim]:
    """Return the paper's statements, and whether each holds."""
    first, last = times[0], times[-1]
    shares = {
        count: each["BNS-GCN"].packets[uplink] / sum(each["BNS-GCN"].packets.values())
        for count, each in built.items()
    }
    crossing = {name: each.packets[uplink] for name, each in built[last["workers"]].items()}
    hosts = [each["BNS-GCN"].packets[uplink] for each in built.values()]
    return [
        by_paper(
            "traffic between racks grows with the workers (BNS-GCN)",
            all(less < more for less, more in pairwise(hosts)),
            ", ".join(
                f"{count} workers: {value:,}" for count, value in zip(built, hosts, strict=True)
            ),
        ),
        by_paper(
            "at most workers the links between leaves and spines are the bottleneck (BNS-GCN)",
            "spine" in built[last["workers"]]["BNS-GCN"].bottleneck(paper.SPINES),
            f"{built[last['workers']]['BNS-GCN'].bottleneck(paper.SPINES)}; their share of all"
            f" packets {shares[last['workers']]:.0%}",
        ),
        by_paper(
            "the paper's plan has the lowest time, at most workers",
            all(last["multi-level"] < last[other] for other in OTHERS),
            ", ".join(
                f"{name} {last[name]:.3f}" for name in (*OTHERS, "multi-level", TOGETHER, "slices")
            ),
        ),
        by_us(
            "aggregation in the network has the lowest time at every number of workers (*slices*)",
            all(row["slices"] < row[other] for row in times for other in OTHERS),
            f"at {first['workers']} workers {first['slices'] / first['BNS-GCN'] - 1:+.0%}, at"
            f" {last['workers']} {last['slices'] / last['BNS-GCN'] - 1:+.0%} against BNS-GCN",
        ),
        by_us(
            "and so it has with a row of lists a cycle at each leaf",
            all(row[ROWS] < row[other] for row in times for other in OTHERS),
            ", ".join(
                f"{row['workers']} workers: {row[ROWS]:.3f}, BNS-GCN {row['BNS-GCN']:.3f}"
                for row in times
            ),
        ),
        by_paper(
            "sums reduce the traffic between racks",
            crossing[SUMS] < crossing["BNS-GCN"],
            f"sums alone {crossing[SUMS] / crossing['BNS-GCN'] - 1:+.0%} against BNS-GCN,"
            f" {crossing[SUMS] / crossing['strawman'] - 1:+.0%} against a copy for each rack; sums"
            f" and copies chosen {crossing['slices'] / crossing[SUMS] - 1:+.0%} against sums alone",
        ),
    ]
