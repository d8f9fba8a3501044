"""Makes rows of the tables on throughput, measured or by the formula, and judges them."""

from collections.abc import Sequence

from hdl.common.core_clock import CORE_MHZ
from sim.golden.choices import Schedule
from sim.p4sgd.golden.formula import DataSize, Machine
from sim.p4sgd.reproduce.fitting import Row, held, refusal
from sim.p4sgd.reproduce.points import Measurements, Point, turnaround
from sim.reproduce.figure import Claim, by_us

MAX_DEVIATION = 0.03  #: most deviation from the formula, as a share of it


def measured(point: Point, measurements: Measurements) -> Row:
    """Return the cycles of a mini-batch by the hardware's counters, and by the formula."""
    cycles = measurements[point].batch_cycles
    result = turnaround(point, measurements)
    ideal = point.ideal(result)
    return {
        "source": "RTL",
        "data": "zeros",
        "samples": "",
        "samples_held": "",
        "features": point.features,
        "workers": point.workers,
        "engines": point.hardware.engines,
        "batch": point.batch,
        "schedule": point.schedule.value,
        "turnaround": result,
        "mini_batch_cycles": cycles,
        "formula_cycles": ideal,
        "deviation": round(cycles / ideal - 1, 5),
        "samples_per_kilocycle": round(1000 * point.batch / cycles, 4),
        "epoch_seconds": "",
        "refused": "",
    }


def by_formula(
    data: DataSize,
    machine: Machine,
    batch: int,
    schedule: Schedule,
    turnaround: float,
    cycles: float,
) -> Row:
    """Return the row of what was not simulated, with an epoch's seconds at the core's clock.

    It has no cycles if the hardware refuses the data. The seconds are those of all samples, also
    where the memories hold a part of them.
    """
    seconds = -(-data.samples // batch) * cycles / (CORE_MHZ * 1e6)
    refused = refusal(data, machine, batch, schedule)
    return {
        "source": "formula",
        "data": data.name,
        "samples": data.samples,
        "samples_held": held(data, machine, schedule),
        "features": data.features,
        "workers": machine.workers,
        "engines": machine.engines,
        "batch": batch,
        "schedule": schedule.value,
        "turnaround": turnaround,
        "mini_batch_cycles": "",
        "formula_cycles": "" if refused else cycles,
        "deviation": "",
        "samples_per_kilocycle": "" if refused else round(1000 * batch / cycles, 4),
        "epoch_seconds": "" if refused else f"{seconds:.4g}",
        "refused": refused,
    }


def follows_formula(
    rows: Sequence[Row], what: str = "cycles", most: float = MAX_DEVIATION
) -> Claim:
    """Return the claim, which is ours, that the cycles are those of the formula."""
    result = max(abs(row["deviation"]) for row in rows)
    text = f"{what} within {most:.0%} of the formula"
    return by_us(text, result <= most, f"at most {result:.2%} away, {len(rows)} points")
