"""Says which of the paper's data sets the hardware of the formulas holds, and why not others."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hdl.common.core_clock import CORE_MHZ
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.host.registers import constants
from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.choices import Schedule
from sim.p4sgd.golden.formula import PAPER_DATA, PAPER_MACHINE, DataSize, Machine
from sim.p4sgd.host.capacity import Capacity, DoesNotFit

Row = Mapping[str, Any]

#: seconds of a whole training on 8 workers, by the data set's name (P4SGD, table IV)
TRAINING_SECONDS = {"rcv1": 0.27, "avazu": 4.12}
VARYING = ("workers", "engines", "batch")  #: columns of which one differs in a figure


def hardware_of(machine: Machine) -> WorkerParams:
    """Return such a worker; sizes that a machine does not have are a worker's defaults."""
    engine = EngineParams(banks=machine.banks, lanes=machine.lanes)
    return WorkerParams(engines=machine.engines, engine=engine)


def capacity_of(machine: Machine, schedule: Schedule = Schedule.PIPELINED) -> Capacity:
    """Return what such workers hold."""
    fixed = constants(hardware_of(machine))
    alone = schedule is Schedule.DATA_PARALLEL  # each has the whole model
    return Capacity(fixed=fixed, workers=1 if alone else machine.workers)


def refusal(data: DataSize, machine: Machine, batch: int, schedule: Schedule) -> str:
    """Return why the hardware cannot train on so many features; nothing if it can."""
    capacity = capacity_of(machine, schedule)
    try:
        capacity.check_features(data.features, machine.bits)
        if schedule is Schedule.VANILLA:
            capacity.check_vanilla(data.features, machine.bits, batch)
    except DoesNotFit as error:
        return str(error).partition(";")[0]
    return ""


def held(data: DataSize, machine: Machine, schedule: Schedule) -> int:
    """Return how many of the samples the memories of all workers hold."""
    samples = capacity_of(machine, schedule).samples(data.features, machine.bits)
    if schedule is Schedule.DATA_PARALLEL:
        samples *= machine.workers
    return min(data.samples, samples)


def remarks(rows: Sequence[Row], column: str = "") -> str:
    """Return which of the paper's points the hardware refuses, and of which it holds a part.

    ``column`` is what differs; the first of :data:`VARYING` that does unless given.
    """
    refused = [row for row in rows if row["refused"]]
    partly = [row for row in rows if not row["refused"] and row["samples_held"] < row["samples"]]
    column = column or next(name for name in VARYING if len({row[name] for row in rows}) > 1)
    texts = [
        f"{which}: not judged, because the hardware refuses them. At {column}"
        f" {own[0][column]}, {own[0]['refused']}."
        for which, own in alike(refused, column)
    ]
    texts += [
        f"{which}: cycles of a part of the data, because the memories hold at most"
        f" {max(row['samples_held'] for row in own):,} of {own[0]['samples']:,} samples;"
        " the table's epoch_seconds are those of all."
        for which, own in alike(partly, column)
    ]
    return "\n\n".join([*texts, *parts_of_paper()])


def alike(rows: Sequence[Row], column: str) -> Iterator[tuple[str, list[Row]]]:
    """Yield the points of each data set and schedule, first in words."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["data"], row["schedule"]), []).append(row)
    for (data, schedule), own in groups.items():
        values = ", ".join(dict.fromkeys(str(row[column]) for row in own))
        yield f"{data}, {schedule}, {column} {values}", own


def parts_of_paper() -> Iterator[str]:
    """Yield the data sets whose training takes the paper less time than an epoch can."""
    machine = PAPER_MACHINE
    for data in PAPER_DATA:
        cycles = machine.micro_batches(data.samples) * machine.words(data.features)
        epoch, seconds = cycles / (CORE_MHZ * 1e6), TRAINING_SECONDS.get(data.name)
        if seconds is not None and seconds < epoch:
            terabytes = data.samples * data.features * machine.bits / 8e12
            yield (
                f"The paper must have trained on a part of {data.name}: dense, at {machine.bits}"
                f" bits, it is {terabytes:.1f} TB, and the {seconds} s of its table IV are fewer"
                f" than the {epoch:.1f} s in which {machine.workers} workers of {machine.engines}"
                f" engines read it once by the formula, with T = 0."
            )
