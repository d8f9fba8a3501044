"""Reproduces figure 10: throughput against the size of a mini-batch."""

from hdl.p4sgd.worker_params import WorkerParams
from sim.p4sgd.golden.formula import PAPER_MACHINE
from sim.p4sgd.reproduce.points import SCALING, Point
from sim.p4sgd.reproduce.sweep import Sweep

WORKERS = 4


def point(batch: int, features: int, link_latency: int) -> Point:
    """Return a point of the figure."""
    return Point(
        workers=WORKERS,
        hardware=WorkerParams(engines=1, engine=SCALING),
        features=features,
        batch=batch,
        link_latency=link_latency,
    )


BATCH_SIZE = Sweep(
    name="batch-size",
    title="Effect of the mini-batch size",
    source="section 5.4.1, figure 10",
    quote="First, a larger mini-batch size leads to a higher speedup, [...] Second, a larger number"
    " of features leads to a smaller speedup when increasing the mini-batch size.",
    setting=f"RTL: {WORKERS} workers of 1 engine, {SCALING.banks} x {SCALING.lanes}, s = 4. The"
    " formula's hardware: 8 workers of 8 engines (its T is that of our workers).",
    what="mini-batch B",
    values=(16, 32, 64, 128, 256, 512, 1024),
    quick_values=(16, 64, 256, 1024),
    features=(512, 2048, 8192),
    quick_features=(512, 2048),
    point=point,
    paper=lambda batch: (PAPER_MACHINE, batch),
    rises="a larger mini-batch gives a higher throughput",
    by_features="more features give less speed-up",
    more_features=False,
)
