"""Measures cycles of the network: AllReduce, switch, and training on one to eight workers."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.bench.limits import Limit, Row
from sim.p4sgd.reproduce import allreduce, points
from sim.p4sgd.reproduce.points import BITS, Measurements, Point, turnaround
from sim.p4sgd.switch_session import SwitchSession, SwitchWorkload

MAX_ALLREDUCE = Limit(40)
#: cycles from the last packet to the sum, by the slots of the switch: 64 K are read in four cycles
MAX_SWITCH = {1 << 15: Limit(8), 1 << 16: Limit(10)}
SAME = Limit(0)
LEAST_THROUGHPUT = Limit(1, at_least=True)
LEAST_LINEAR = Limit(90, at_least=True)
MAX_DEVIATION = Limit(3)
ALLREDUCES = 100

WORKERS = (1, 2, 4, 8)
FEATURES, BATCH = 1 << 16, 64
LINK_LATENCY = 150  #: cycles of a link, one way
HARDWARE = WorkerParams(engines=1, engine=EngineParams(chunks=1024, fifo_words=8192, max_bits=BITS))
STALLS = ("memory", "network", "dependency", "fifo")


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Measure all three parts: AllReduce, switch, and training."""
    progress("AllReduce of 8 workers")
    result = allreduce_rows(*allreduce.latencies([allreduce.Order(0, 0, ALLREDUCES)]))
    progress("switch alone")
    for slots, most in MAX_SWITCH.items():
        name = f"switch of {slots >> 10} K slots"
        result += switch_rows(measure_switch(SwitchParams(slots=slots)), name, most)
    requested = scale_out_points()
    everything = [*requested, *(point.turnaround for point in requested)]
    measured = points.measure(everything, lambda what, *_: progress(f"scale-out: {what}"))
    return [*result, *scale_out_rows(requested, measured)]


def allreduce_rows(result: allreduce.Latencies) -> list[Row]:
    """Return the latency from a partial activation to the full one, over all workers and times."""
    least, most = min(result.cycles), max(result.cycles)
    note = f"8 workers send in the same cycle, no link delay; {result.order.count} times"
    return [
        Row(what="AllReduce", value=most, unit="cycles", limit=MAX_ALLREDUCE, note=note),
        Row(
            what="AllReduce: most - least",
            value=most - least,
            unit="cycles",
            limit=SAME,
            note="of all workers and times",
        ),
    ]


def measure_switch(params: SwitchParams) -> Mapping[str, Any]:
    """Measure what a switch alone does."""
    session = SwitchSession(params, SwitchWorkload())
    with tempfile.TemporaryDirectory() as folder:
        return session.run(session.build(params), Path(folder)).details["packets"]


def switch_rows(result: Mapping[str, Any], switch: str, most: Limit) -> Iterator[Row]:
    """Yield the latency from the last packet to the sum on every port, and packets a cycle."""
    yield Row(
        what=f"{switch}: last packet to sum",
        value=max(result["latencies"]),
        unit="cycles",
        limit=most,
        note=f"on every port; least {min(result['latencies'])}",
    )
    for name, slots in (("random", "random slots"), ("single", "a single slot")):
        packets, cycles = result[name]
        yield Row(
            what=f"{switch}: {slots}",
            value=packets / cycles,
            unit="packets/cycle",
            limit=LEAST_THROUGHPUT,
            note=f"{packets:,} packets in {cycles:,} cycles by its own counters",
        )


def scale_out_points() -> list[Point]:
    """Return the points of the same training on more and more workers."""
    return [
        Point(
            workers=workers,
            hardware=HARDWARE,
            features=FEATURES,
            batch=BATCH,
            link_latency=LINK_LATENCY,
        )
        for workers in WORKERS
    ]


def scale_out_rows(requested: Sequence[Point], measured: Measurements) -> Iterator[Row]:
    """Compare the cycles with the formula's, and with those of one worker with one share."""
    first = measured[requested[0]].batch_cycles
    for point in requested:
        cycles, result = measured[point].batch_cycles, turnaround(point, measured)
        ideal, speed_up = point.ideal(result), first / cycles
        name = f"{point.workers} worker{'s' * (point.workers > 1)}"
        yield Row(
            what=f"{name}: off the formula",
            value=100 * abs(cycles / ideal - 1),
            unit="%",
            limit=MAX_DEVIATION,
            note=f"{cycles:,.0f} cycles a mini-batch, {ideal:,.0f} by the formula, T {result:g}",
        )
        yield Row(
            what=f"{name}: of linear",
            value=100 * speed_up / point.workers,
            unit="%",
            limit=LEAST_LINEAR,
            note=f"{speed_up:.2f} times 1 worker; D = {point.features:,}, B = {point.batch},"
            f" links of {point.link_latency} cycles",
        )
    counters = measured[requested[0]].workers[0]
    for stall in STALLS:
        yield Row(
            what=f"{requested[0].workers} worker: waits for {stall}",
            value=100 * counters[f"{stall}_stalls"] / counters["cycles"],
            unit="%",
            note=f"{counters[f'{stall}_stalls']:,} of {counters['cycles']:,} cycles of a run",
        )
