"""Reproduces table I: time and memory of three schedules, by the paper's terms and on the RTL."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from sim.golden.choices import Schedule
from sim.p4sgd.reproduce.parallelism import ENGINE, EXCHANGE_DEVIATION, HARDWARE, WORKERS, exchanges
from sim.p4sgd.reproduce.points import BITS, Measurements, Point
from sim.p4sgd.reproduce.table import follows_formula, measured
from sim.reproduce.figure import Claim, Figure, Panel, by_paper, by_us
from sim.workloads.layout import BEAT_BYTES

FEATURES, BATCH = 2048, 64
WORD_BYTES = 4  #: of a weight or an activation
PACKET = 8  #: weights in a packet; activations are as many as banks

#: Has the paper's terms: D features, S samples, B of a mini-batch, MB of a micro-batch, M workers,
#: F and G the time of a forward and a backward pass of one worker with the whole model.
TERMS: Mapping[Schedule, Mapping[str, str]] = {
    Schedule.DATA_PARALLEL: {
        "model": "D",
        "data_set": "S D / M",
        "network": "D",
        "time": "F(B / M) + G(1) + D / bandwidth + latency",
    },
    Schedule.VANILLA: {
        "model": "D / M",
        "data_set": "S D / M",
        "network": "B",
        "time": "(F(B) + G(B)) / M + B / bandwidth + latency",
    },
    Schedule.PIPELINED: {
        "model": "D / M",
        "data_set": "S D / M",
        "network": "MB",
        "time": "(F(MB) + G(B)) / M + MB / bandwidth + latency",
    },
}


def series(link_latency: int) -> dict[Schedule, Point]:
    """Return a point of each schedule, in the order of the table."""
    return {
        schedule: Point(
            workers=WORKERS,
            hardware=HARDWARE,
            features=FEATURES,
            batch=BATCH,
            schedule=schedule,
            link_latency=link_latency,
        )
        for schedule in TERMS
    }


def points(quick: bool, link_latency: int) -> list[Point]:
    """Return all points that must be measured; they are small."""
    requested = series(link_latency).values()
    return [*requested, *(point.turnaround for point in requested)]


def memory(point: Point, counters: Mapping[str, int]) -> dict[str, int]:
    """Return the bytes of a worker's memories that are in use, from its registers and counters."""
    training = point.training()
    words = counters["words"] // point.passes[-1]
    packets = counters["sent_packets"] // 2 // (point.passes[-1] * int(point.batches))
    numbers = packets * (PACKET if training.shares_samples else ENGINE.banks)
    return {
        "model_bytes": training.chunks * ENGINE.lanes * HARDWARE.engines * WORD_BYTES,
        "data_set_bytes": words * training.geometry.ports * BEAT_BYTES,
        "network_bytes": numbers * WORD_BYTES,
    }


def figure(quick: bool, link_latency: int, measurements: Measurements) -> Figure:
    """Return the table, and bars of the three times."""
    rows = []
    for schedule, point in series(link_latency).items():
        row = measured(point, measurements)
        terms = TERMS[schedule]
        used = memory(point, measurements[point].workers[0])
        rows.append({**{f"paper_{name}": term for name, term in terms.items()}, **row, **used})
    shown = [
        {
            "schedule": row["schedule"],
            "model": f"{row['paper_model']}: {row['model_bytes']:,} B",
            "data set": f"{row['paper_data_set']}: {row['data_set_bytes']:,} B",
            "network": f"{row['paper_network']}: {row['network_bytes']:,} B",
            "iteration": f"{row['paper_time']}: {row['mini_batch_cycles']:,.0f} cycles,"
            f" {row['formula_cycles']:,.0f} by our formula",
        }
        for row in rows
    ]
    return Figure(
        name="schedules",
        title="Memory and time of three schedules",
        source="sections 2 and 3.2.2, table I, equations 1 to 3",
        quote="P4SGD enables the overlap between forward and backward propagation computation"
        " between micro-batches.",
        setting=f"RTL: {WORKERS} workers of 1 engine, {ENGINE.banks} x {ENGINE.lanes}, s = {BITS},"
        f" D = {FEATURES:,}, B = {BATCH}, links of {link_latency} cycles each way. The terms are"
        " restated from the text: D features, S samples, B and MB of a mini-batch and a"
        " micro-batch, M workers, F and G the time of a forward and a backward pass on one worker."
        " The network's bytes are all that a worker sends in a mini-batch, acknowledgements apart;"
        " of these, the paper counts what is under way at a time. Data set: one pass of the"
        " measurement.",
        rows=rows,
        shown=shown,
        panels=[Panel("a mini-batch", lambda axes: draw(rows, axes))],
        claims=[
            *claims({row["schedule"]: row for row in rows}),
            follows_formula([row for row in rows if not exchanges(row)], "model parallelism"),
            follows_formula(
                [row for row in rows if exchanges(row)], "data parallelism", EXCHANGE_DEVIATION
            ),
        ],
    )


def claims(rows: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    """Return what the paper's terms say of each pair of schedules."""
    alone, vanilla, pipelined = (
        rows[schedule.value]
        for schedule in (Schedule.DATA_PARALLEL, Schedule.VANILLA, Schedule.PIPELINED)
    )
    cycles = [row["mini_batch_cycles"] for row in (alone, vanilla, pipelined)]
    network = [row["network_bytes"] for row in (alone, vanilla, pipelined)]
    return [
        by_paper(
            "pipelined order takes less time than vanilla order, and this less than data"
            " parallelism",
            cycles[2] < cycles[1] < cycles[0],
            f"{cycles[2]:,.0f}, {cycles[1]:,.0f}, {cycles[0]:,.0f} cycles",
        ),
        by_paper(
            f"model parallelism holds 1 / {WORKERS} of the model in a worker",
            WORKERS * pipelined["model_bytes"] == alone["model_bytes"],
            f"{pipelined['model_bytes']:,} and {alone['model_bytes']:,} B",
        ),
        by_paper(
            "a worker holds as much of the data set in all three",
            len({row["data_set_bytes"] for row in (alone, vanilla, pipelined)}) == 1,
            f"{pipelined['data_set_bytes']:,} B",
        ),
        by_us(
            f"data parallelism sends D / B = {FEATURES // BATCH} times as much as the others",
            network[0] * BATCH == network[2] * FEATURES and network[1] == network[2],
            f"{network[0]:,}, {network[1]:,}, {network[2]:,} B",
        ),
    ]


def draw(rows: list[dict[str, Any]], axes: Axes) -> None:
    """Draw the measured cycles as bars, and the formula's as marks."""
    names = [row["schedule"] for row in rows]
    axes.bar(names, [row["mini_batch_cycles"] for row in rows], color="tab:blue", label="RTL")
    axes.plot(names, [row["formula_cycles"] for row in rows], "x", color="k", label="formula")
    axes.set_ylabel("cycles of a mini-batch")
