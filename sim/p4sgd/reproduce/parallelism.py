"""Reproduces figure 9: an epoch of model parallelism beside one of data parallelism."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from matplotlib.axes import Axes

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.host.registers import constants
from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.choices import Schedule
from sim.p4sgd.golden.formula import PAPER_DATA, SLOTS, Machine
from sim.p4sgd.host.capacity import Capacity, DoesNotFit
from sim.p4sgd.reproduce.fitting import Row, refusal, remarks
from sim.p4sgd.reproduce.points import BITS, Measurements, Point, linked, turnaround
from sim.p4sgd.reproduce.table import by_formula, follows_formula, measured
from sim.reproduce.figure import Claim, Figure, Panel, by_paper, doubling

WORKERS = 4
FEATURES, QUICK_FEATURES = (512, 2048, 8192), (512, 2048)
BATCHES, QUICK_BATCHES = (16, 32, 64, 128, 256, 512, 1024), (16, 128, 1024)
#: factors from which on a time counts as several times as long, and up to which as equal
SEVERAL, EQUAL = 2.0, 1.5
EXCHANGE_DEVIATION = (
    0.15  #: most deviation from the formula, which is exact only for few groups and for many
)
PAPER_MACHINE = Machine(workers=WORKERS)
COMPARED = (Schedule.PIPELINED, Schedule.DATA_PARALLEL)

NOTE = (
    "Data parallelism by the formula: B / (M K) micro-batches of the whole model's C s words, T,"
    " then the model in packets of eight, 2 M cycles each (fewer while all have a slot of their"
    " own): our switch takes one packet a cycle over all its ports, and M partial sums and M"
    " acknowledgements make an AllReduce. The exchange costs about K M N L / (B s) times the"
    " computation if the features are many: it counts for more, the more engines share the"
    " computation. A switch that takes a packet a cycle at each port, like the paper's, would"
    " exchange up to M times as fast."
)

#: Has four banks, so that a worker's share of 16 samples is a micro-batch.
ENGINE = EngineParams(
    banks=4, lanes=64, max_bits=BITS, chunks=128, fifo_words=2048, data_parallel=True
)
HARDWARE = WorkerParams(engines=1, engine=ENGINE, slots=SLOTS)


@dataclass(frozen=True)
class Curve:
    """Holds, for one number of features, how much longer data parallelism takes, by mini-batch."""

    label: str
    features: int
    batches: Sequence[int]
    ratios: Sequence[float]
    ideal: Sequence[float] = ()


def points(quick: bool, link_latency: int) -> list[Point]:
    """Return all points that must be measured."""
    requested = series(quick, link_latency)
    return requested + [point.turnaround for point in requested]


def series(quick: bool, link_latency: int) -> list[Point]:
    """Return a point for every number of features, with every batch and schedule that fits."""
    return [
        Point(
            workers=WORKERS,
            hardware=HARDWARE,
            features=features,
            batch=batch,
            schedule=schedule,
            link_latency=link_latency,
        )
        for features in (QUICK_FEATURES if quick else FEATURES)
        for batch in (QUICK_BATCHES if quick else BATCHES)
        for schedule in Schedule
        if schedule is not Schedule.VANILLA or vanilla_fits(features, batch)
    ]


def vanilla_fits(features: int, batch: int) -> bool:
    """Return whether a whole mini-batch fits the word FIFO and the slots."""
    try:
        Capacity(fixed=constants(HARDWARE), workers=WORKERS).check_vanilla(features, BITS, batch)
    except DoesNotFit:
        return False
    return True


def figure(quick: bool, link_latency: int, measurements: Measurements) -> Figure:
    """Return the figure: how many times as long data parallelism takes."""
    requested = series(quick, link_latency)
    batches = QUICK_BATCHES if quick else BATCHES
    rows = {point: measured(point, measurements) for point in requested}
    curves = [
        measured_curve(rows, features, batches)
        for features in dict.fromkeys(point.features for point in requested)
    ]
    result = {
        schedule: turnaround(replace(requested[0], schedule=schedule), measurements)
        for schedule in Schedule
    }
    paper_rows, paper = extend(batches, result, link_latency)
    shown = ", ".join(f"{schedule.value} {cycles:g}" for schedule, cycles in result.items())
    return Figure(
        name="parallelism",
        title="Model against data parallelism",
        source="section 5.3, figure 9",
        quote="First, model parallelism has significantly smaller elapsed time per epoch [...] in"
        " most cases [...]. Second, model parallelism has a higher speedup [...] when B is smaller"
        " [...], while model and data parallelism has roughly the same elapsed time when B is 1024."
        " Third, model parallelism has a higher speedup [...] when the number of features is"
        " larger.",
        setting=f"RTL: {WORKERS} workers of 1 engine, {ENGINE.banks} x {ENGINE.lanes}, s = {BITS};"
        f" links of {link_latency} cycles each way. Vanilla order is in the table where its"
        f" mini-batch fits the word FIFO. T in cycles, measured: {shown}. By the formula: the"
        " paper's data sets on 4 workers of 8 engines, 8 x 64.",
        rows=[*rows.values(), *paper_rows],
        panels=[
            Panel("RTL (markers) and formula (lines)", lambda axes: draw(axes, curves)),
            Panel("by the formula: 4 workers, 8 engines, 8 x 64", lambda axes: draw(axes, paper)),
        ],
        claims=[
            *claims(curves, ""),
            *claims(paper, "by the formula: "),
            follows_formula(
                [row for row in rows.values() if not exchanges(row)], "model parallelism"
            ),
            follows_formula(
                [row for row in rows.values() if exchanges(row)],
                "data parallelism",
                EXCHANGE_DEVIATION,
            ),
        ],
        note=f"{NOTE}\n\n{remarks(paper_rows)}",
    )


def exchanges(row: Row) -> bool:
    """Return whether a row is of data parallelism."""
    return row["schedule"] == Schedule.DATA_PARALLEL.value


def measured_curve(rows: dict[Point, Row], features: int, batches: Sequence[int]) -> Curve:
    """Return the measured curve of one number of features."""

    def ratios(column: str) -> list[float]:
        values = {
            (point.batch, point.schedule): row[column]
            for point, row in rows.items()
            if point.features == features
        }
        return [
            values[batch, Schedule.DATA_PARALLEL] / values[batch, Schedule.PIPELINED]
            for batch in batches
        ]

    label = f"D = {features:,}"
    return Curve(label, features, batches, ratios("mini_batch_cycles"), ratios("formula_cycles"))


def extend(
    batches: Sequence[int], result: dict[Schedule, float], link_latency: int
) -> tuple[list[Row], list[Curve]]:
    """Return rows and curves by the formula, of the paper's data and hardware.

    Data sets whose models the hardware refuses have no curve.
    """
    rows, curves = [], []
    machine = replace(PAPER_MACHINE, **linked(link_latency))
    ways = {
        Schedule.PIPELINED: machine.pipelined,
        Schedule.VANILLA: machine.vanilla,
        Schedule.DATA_PARALLEL: machine.data_parallel,
    }
    for data in PAPER_DATA:
        ratios = []
        for batch in batches:
            cycles = {path: rule(data.features, batch, result[path]) for path, rule in ways.items()}
            rows += [
                by_formula(data, machine, batch, path, result[path], each)
                for path, each in cycles.items()
            ]
            ratios.append(cycles[Schedule.DATA_PARALLEL] / cycles[Schedule.PIPELINED])
        if any(refusal(data, machine, batches[0], path) for path in COMPARED):
            continue
        label = f"{data.name}, D = {data.features:,}"
        curves.append(Curve(label, data.features, batches, ratios))
    return rows, curves


def claims(curves: Sequence[Curve], kind: str) -> list[Claim]:
    """Return what the paper says, judged by these curves."""
    ordered = sorted(curves, key=lambda curve: curve.features)
    all_ratios = [ratio for curve in ordered for ratio in curve.ratios]
    faster = sum(ratio > 1 for ratio in all_ratios)
    least, most = ordered[0].batches[0], ordered[0].batches[-1]
    first = "; ".join(f"{curve.label}: {curve.ratios[0]:.2f}" for curve in curves)
    last = "; ".join(f"{curve.label}: {curve.ratios[-1]:.2f}" for curve in curves)
    return [
        by_paper(
            f"{kind}model parallelism is faster in most cases",
            2 * faster > len(all_ratios),
            f"in {faster} of {len(all_ratios)}",
        ),
        by_paper(
            f"{kind}several times as fast at B = {least} ({SEVERAL:g} or more)",
            all(curve.ratios[0] >= SEVERAL for curve in ordered),
            first,
        ),
        by_paper(
            f"{kind}the smaller B, the higher its speed-up",
            all(left > right for curve in ordered for left, right in pairwise(curve.ratios)),
            f"from {first} at B = {least} to {last} at B = {most}",
        ),
        by_paper(
            f"{kind}roughly the same time at B = {most} (up to {EQUAL:g} times)",
            all(1 / EQUAL <= curve.ratios[-1] <= EQUAL for curve in ordered),
            last,
        ),
        by_paper(
            f"{kind}more features give a higher speed-up at B = {least}",
            all(left.ratios[0] < right.ratios[0] for left, right in pairwise(ordered)),
            first,
        ),
    ]


def draw(axes: Axes, curves: Sequence[Curve]) -> None:
    """Draw measured points as markers on the formula's lines, or lines alone."""
    doubling(axes, curves[0].batches, "mini-batch B")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylabel("data parallelism / model parallelism")
    axes.axhline(1, color="0.6", linestyle=":", label="equal")
    for index, (curve, marker) in enumerate(zip(curves, "os^Dv", strict=False)):
        color = f"C{index}"
        axes.plot(curve.batches, curve.ideal or curve.ratios, color=color, linewidth=1)
        axes.plot(curve.batches, curve.ratios, marker, color=color, label=curve.label)
