"""Reproduces figure 12: throughput against workers."""

from hdl.p4sgd.worker_params import WorkerParams
from sim.p4sgd.golden.formula import Machine
from sim.p4sgd.reproduce.points import SCALING, Point
from sim.p4sgd.reproduce.sweep import Sweep

BATCH = 64


def point(workers: int, features: int, link_latency: int) -> Point:
    """Return a point of the figure."""
    return Point(
        workers=workers,
        hardware=WorkerParams(engines=1, engine=SCALING),
        features=features,
        batch=BATCH,
        link_latency=link_latency,
    )


SCALE_OUT = Sweep(
    name="scale-out",
    title="Scale-out: workers",
    source="section 5.4.1, figure 12",
    quote="First, a larger number of workers leads to a higher throughput [...]. Second, a larger"
    " number of features leads to a higher throughput improvement [...]. Third, when the number of"
    " features reaches 1 million, the throughput closely increases linearly with an increasing"
    " number of machines.",
    setting=f"RTL: workers of 1 engine, {SCALING.banks} x {SCALING.lanes}, s = 4, B = {BATCH}. The"
    " formula's hardware: 8 engines (its T is that of our workers).",
    what="workers M",
    values=(1, 2, 4, 8),
    quick_values=(1, 4),
    features=(1024, 4096, 16384),
    quick_features=(1024, 4096),
    point=point,
    paper=lambda workers: (Machine(workers=workers), BATCH),
    rises="more workers give a higher throughput",
    by_features="more features give a higher improvement",
    more_features=True,
    near_linear="with 1 million features close to linear",
    linear=True,
)
