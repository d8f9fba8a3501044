"""Makes up measurements: by the formula, bent where a test wants it."""

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.choices import Schedule
from sim.p4sgd.reproduce.convergence import Convergence
from sim.p4sgd.reproduce.points import Measurement
from sim.p4sgd.training_report import Row

TURNAROUNDS = {Schedule.PIPELINED: 300, Schedule.VANILLA: 302, Schedule.DATA_PARALLEL: 280}


def by_the_formula(points, bend=lambda point, cycles: cycles):
    """Return a measurement of each point; ``bend`` changes its cycles, but not those of T."""
    result = {}
    for point in points:
        cycles = point.ideal(TURNAROUNDS[point.schedule])
        if point != point.turnaround:
            cycles = bend(point, cycles)
        result[point] = Measurement(cycles, [{}] * point.workers)
    return result


def broken(figure):
    return [claim.text for claim in figure.claims if not claim.holds]


DATA_PARALLEL = WorkerParams(
    engines=2,
    slots=20,
    engine=EngineParams(lanes=32, chunks=16, fifo_words=128, data_parallel=True),
)


def training(rtl, double, exact=True):
    rows = [
        Row(number, r, 0.9, r, 0.9, d, 0.9, *[None] * 6, exact, {"cycles": 7}, {})
        for number, (r, d) in enumerate(zip(rtl, double, strict=True), 1)
    ]
    return Convergence("it", rows, 9)


FALLING = [1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]  # the target is the sixth
