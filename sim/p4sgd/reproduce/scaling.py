"""Reproduces figures 10 to 12: throughput against mini-batch size, engines, and workers."""

from hdl.p4sgd.worker_params import WorkerParams
from sim.p4sgd.golden.formula import PAPER_MACHINE, Machine
from sim.p4sgd.reproduce.points import SCALING, Point
from sim.p4sgd.reproduce.sweep import Sweep

WORKERS, BATCH = 4, 64


def scaling(
    features: int, link_latency: int, workers: int = 1, engines: int = 1, batch: int = BATCH
) -> Point:
    """Return a point of one of the figures."""
    return Point(
        workers=workers,
        hardware=WorkerParams(engines=engines, engine=SCALING),
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
    " paper's size: 8 workers of 8 engines.",
    what="mini-batch B",
    values=(16, 32, 64, 128, 256, 512, 1024),
    quick_values=(16, 64, 256, 1024),
    features=(512, 2048, 8192),
    quick_features=(512, 2048),
    point=lambda batch, features, latency: scaling(features, latency, WORKERS, batch=batch),
    paper=lambda batch: (PAPER_MACHINE, batch),
    rises="a larger mini-batch gives a higher throughput",
    by_features="more features give less speed-up",
    more_features=False,
)

SCALE_UP = Sweep(
    name="scale-up",
    title="Scale-up: engines of a worker",
    source="section 5.4.1, figure 11",
    quote="First, a larger number of engines leads to higher throughput [...]. Second, a larger"
    " number of features leads to a higher throughput improvement when increasing the number of"
    " engines.",
    setting=f"RTL: 1 worker behind a switch, engines of {SCALING.banks} x {SCALING.lanes}, s = 4,"
    f" B = {BATCH}. The paper's size: 1 worker.",
    what="engines N",
    values=(1, 2, 4, 8, 16),
    quick_values=(1, 4),
    features=(1024, 4096, 16384),
    quick_features=(1024, 4096),
    point=lambda engines, features, latency: scaling(features, latency, engines=engines),
    paper=lambda engines: (Machine(workers=1, engines=engines), BATCH),
    rises="more engines give a higher throughput",
    by_features="more features give a higher improvement",
    more_features=True,
    linear=True,
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
    " paper's size: workers of 8 engines.",
    what="workers M",
    values=(1, 2, 4, 8),
    quick_values=(1, 4),
    features=(1024, 4096, 16384),
    quick_features=(1024, 4096),
    point=lambda workers, features, latency: scaling(features, latency, workers),
    paper=lambda workers: (Machine(workers=workers), BATCH),
    rises="more workers give a higher throughput",
    by_features="more features give a higher improvement",
    more_features=True,
    near_linear="with 1 million features close to linear",
    linear=True,
)
