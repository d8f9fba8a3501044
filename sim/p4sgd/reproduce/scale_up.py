"""Reproduces figure 11: throughput against the engines of a worker."""

from hdl.p4sgd.worker_params import WorkerParams
from sim.p4sgd.golden.formula import Machine
from sim.p4sgd.reproduce.points import SCALING, Point
from sim.p4sgd.reproduce.sweep import Sweep

BATCH = 64


def point(engines: int, features: int, link_latency: int) -> Point:
    """Return a point of the figure."""
    hardware = WorkerParams(engines=engines, engine=SCALING)
    return Point(hardware=hardware, features=features, batch=BATCH, link_latency=link_latency)


SCALE_UP = Sweep(
    name="scale-up",
    title="Scale-up: engines of a worker",
    source="section 5.4.1, figure 11",
    quote="First, a larger number of engines leads to higher throughput [...]. Second, a larger"
    " number of features leads to a higher throughput improvement when increasing the number of"
    " engines.",
    setting=f"RTL: 1 worker behind a switch, engines of {SCALING.banks} x {SCALING.lanes}, s = 4,"
    f" B = {BATCH}. The formula's hardware: 1 worker.",
    what="engines N",
    values=(1, 2, 4, 8),
    quick_values=(1, 4),
    features=(1024, 4096, 16384),
    quick_features=(1024, 4096),
    point=point,
    paper=lambda engines: (Machine(workers=1, engines=engines), BATCH),
    rises="more engines give a higher throughput",
    by_features="more features give a higher improvement",
    more_features=True,
    linear=True,
)
